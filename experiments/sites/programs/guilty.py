"""`temp_buffer` is innocent and `remember_session` guilty.

With the argument "apart" sessions are in an arena of their own.
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
    """Keep a little for good."""
    size = 1000 + number % 10
    if arena:
        arena.write(b"s" * size)
    else:
        sessions.append(bytearray(b"s" * size))  # guilty


for number in range(SESSIONS):
    temp_buffer(number)
    remember_session(number)
buffers.clear()
sys.stdin.read(1)  # until the examiner is done
os._exit(0)  # as a server ends: without taking everything down first
