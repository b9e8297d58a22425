"""Data on a heap of another allocator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simalloc.process.mappings import Mapping
from simalloc.process.region import ABSENT, Region
from simalloc.process.target import Target


@dataclass(frozen=True)
class ForeignClass:
    """The blocks of one size."""

    size: int
    used: int
    free: int


@dataclass(frozen=True)
class Foreign:
    """A heap of another allocator."""

    allocator: str
    bytes: int
    """Bytes from the system, as far as the allocator's tables show."""
    resident: int | None
    """Resident bytes, or None if pages are unknown."""
    used: int
    """Bytes of allocated blocks, rounded up to their size classes."""
    blocks: int
    free: int
    """Free bytes in memory that contains blocks."""
    note: str
    """Contents of `used` besides the program's blocks."""
    classes: Sequence[ForeignClass] = ()


def resident_of(target: Target, start: NDArray[np.uint64], size: NDArray[np.uint64]) -> int | None:
    """Return the resident bytes in ranges of whole pages, or None if pages are unknown."""
    if not target.knows_pages or not len(start):
        return None if not target.knows_pages else 0
    order = np.argsort(start)
    total, low, high = 0, int(start[order[0]]), 0
    high = low
    for at, length in zip(start[order].tolist(), size[order].tolist(), strict=True):
        if at != high:
            total += _present(target, low, high)
            low = at
        high = at + length
    return total + _present(target, low, high)


def _present(target: Target, low: int, high: int) -> int:
    return 4096 * int(np.count_nonzero(target.pages(low, high) != ABSENT)) if high > low else 0


def pointers_to(region: Region, runs: Sequence[Mapping], room: int) -> NDArray[np.int64]:
    """Return the indices of a region's words that point to at least `room` bytes of memory."""
    long = [run for run in runs if run.size >= room]
    words = region.words
    starts = np.array([run.start for run in long], np.uint64)
    ends = np.array([run.end - room for run in long], np.uint64)
    if not long:
        return np.empty(0, np.int64)
    place = np.flatnonzero((words >= starts[0]) & (words <= ends.max()) & (words % 64 == 0))
    run = np.searchsorted(starts, words[place], side="right").astype(np.int64) - 1
    return place[words[place] <= ends[run]]
