"""Program in which `temp_buffer` is innocent and `remember_session` guilty.

With the argument "apart", sessions have their own arena.
"""

import mmap
import os
import sys

SESSIONS = 2000
buffers: list[bytearray] = []
sessions: list[bytearray] = []
arena = (
    mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) if sys.argv[1:] else None
)


def temp_buffer(number: int) -> None:
    """Allocate an object that is soon freed."""
    buffers.append(bytearray(b"b" * (3000 + number % 7 * 100)))


def remember_session(number: int) -> None:
    """Allocate a small object that is never freed."""
    size = 1000 + number % 10
    if arena:
        arena.write(b"s" * size)
    else:
        sessions.append(bytearray(b"s" * size))  # guilty


for number in range(SESSIONS):
    temp_buffer(number)
    remember_session(number)
buffers.clear()
sys.stdin.read(1)  # waits for the examiner
os._exit(0)  # exits like a server, without freeing its memory
