// `temp_buffer` is innocent and `remember_session` guilty, and both allocate in the library.
#[inline(never)]
fn temp_buffer(number: usize) -> usize {
    let buffer = vec![b'x'; 3000 + number % 7 * 100];
    std::hint::black_box(&buffer).len()
}

#[inline(never)]
fn remember_session(sessions: &mut Vec<String>, number: usize) {
    sessions.push("s".repeat(100 + number % 10)); // guilty
}

fn main() {
    let mut sessions = Vec::with_capacity(2000);
    let mut bytes = 0;
    for number in 0..2000 {
        bytes += temp_buffer(number);
        remember_session(&mut sessions, number);
    }
    assert!(bytes > sessions.len());
    std::process::exit(0);
}
