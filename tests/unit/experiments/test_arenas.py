"""Bytes of each arena of a program with threads."""

from experiments.threads.arenas import arenas
from simalloc.trace import Trace


def test_live_bytes_and_pages_are_told_by_arena():
    trace = Trace.from_events(
        [0, 0, 0, 2, 1], [0, 1, 2, 1, 0], [100, 5000, 9000, 6000, 0], thread=[0, 1, 1, 1, 1]
    )
    main, other = arenas(trace, "ptmalloc:version=2.36")
    assert (main.live, other.live) == (0, 15_000)
    assert (main.arena, other.arena, main.threads, other.threads) == (0, 1, 1, 1)
    assert other.resident >= other.trimmed >= 16_384
    assert other.system == 135_168
