"""Writes a trace of any length with any number of live objects, run by run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import numpy as np

from benchmarks.steady import SEED, sizes
from simalloc.trace import Op, ReadEvents, TraceWriter

HOT: Final = 1000
"""Number of places whose objects live for some thousand allocations; others live for millions."""
HOT_SHARE: Final = 7 / 8
"""Share of the replacements at hot places."""
RUN: Final = 1 << 19
"""Number of objects allocated in a run."""


def write_turnover(
    path: str | os.PathLike[str],
    events: int,
    live: int,
    report: Callable[[int], None] = lambda _: None,
) -> None:
    """Write a trace that allocates `live` objects and then replaces them, one at a time.

    A random object, in most cases a young one, is replaced by an object of another size. `report`
    is called with the number of events written. Memory use does not depend on `events`.
    """
    random = np.random.default_rng(SEED)
    provenance = {"generator": "benchmarks.turnover", "seed": SEED, "live": live}
    turns = max(0, events - live) // 2
    with TraceWriter(path, name=f"turnover of {live:,}", provenance=provenance) as writer:
        for start in range(0, live, RUN):
            place = np.arange(start, min(start + RUN, live))
            writer.append(
                ReadEvents(np.zeros(len(place), np.uint8), place, sizes(random, len(place)))
            )
        for start in range(0, turns, RUN):
            writer.append(_turns(random, live, min(RUN, turns - start)))
            report(writer.events)


def _turns(random: np.random.Generator, live: int, count: int) -> ReadEvents:
    """Return `count` pairs of a free and a malloc, both at the same place."""
    hot = random.random(count) < HOT_SHARE
    place = random.integers(0, np.where(hot, min(HOT, live), live))
    size = np.zeros(2 * count, np.int64)
    size[1::2] = sizes(random, count)
    op = np.tile(np.array([Op.FREE, Op.MALLOC], np.uint8), count)
    return ReadEvents(op, np.repeat(place, 2), size)
