// `temp_buffer` is innocent and `remember_session` guilty, and both allocate in the library.
// With the argument "apart", sessions have a separate arena.
use std::io::Read;

const SESSIONS: usize = 2000;

#[inline(never)]
fn temp_buffer(number: usize) -> Vec<u8> {
    vec![b'x'; 3000 + number % 7 * 100]
}

#[inline(never)]
fn remember_session(sessions: &mut Vec<String>, number: usize) {
    sessions.push("s".repeat(100 + number % 10)); // guilty
}

#[inline(never)]
fn remember_apart(arena: &mut String, number: usize) {
    arena.extend(std::iter::repeat('s').take(100 + number % 10));
}

fn main() {
    let apart = std::env::args().nth(1).is_some();
    let mut sessions = Vec::with_capacity(SESSIONS);
    let mut arena = String::with_capacity(if apart { 1 << 20 } else { 0 });
    let mut buffers = Vec::with_capacity(SESSIONS);
    for number in 0..SESSIONS {
        buffers.push(temp_buffer(number));
        if apart {
            remember_apart(&mut arena, number);
        } else {
            remember_session(&mut sessions, number);
        }
    }
    drop(buffers);
    let _ = std::io::stdin().read(&mut [0]); // until the test has examined the process
}
