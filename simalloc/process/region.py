"""A copy of a range of a process's memory, and the states of its pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process._walker import Memory
from simalloc.process.mappings import PAGE

ABSENT: Final = 0
SWAPPED: Final = 1
PRESENT: Final = 2
"""The states of a page, with the kernel's numbers. An absent page reads as zero. A page stored in a
core file counts as present."""

_SLACK: Final = 1 << 20
"""Bytes of spare memory for a copy, in addition to an eighth."""


@dataclass(frozen=True, eq=False)
class Region:
    """The bytes from `start` on, in whole pages."""

    start: int
    data: NDArray[np.uint8]
    pages: NDArray[np.uint8]
    """The state of each page, such as `PRESENT`."""

    @property
    def end(self) -> int:
        """Address after the last byte."""
        return self.start + len(self.data)

    @property
    def words(self) -> NDArray[np.uint64]:
        """The bytes as 64-bit words."""
        return self.data.view(np.uint64)

    def bytes_at(self, address: int, size: int) -> bytes:
        """Return bytes at an address, fewer at the region's end."""
        place = address - self.start
        return self.data[place : place + size].tobytes()

    def resident(self, start: NDArray[np.uint64], end: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the resident bytes in each range. The region must contain the ranges."""
        before = np.concatenate(([0], np.cumsum(self.pages != ABSENT))) * PAGE
        return self._up_to(end, before) - self._up_to(start, before)

    def _up_to(self, address: NDArray[np.uint64], before: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the resident bytes below each address."""
        place = (address - np.uint64(self.start)).astype(np.int64)
        page, rest = np.divmod(place, PAGE)
        here = np.append(self.pages != ABSENT, False)[page]
        found: NDArray[np.int64] = before[page] + rest * here
        return found


def room_for(
    start: int, size: int, old: Region | None
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return an array for a copy of memory, and the states of the pages that it contains.

    The array of an earlier copy, `old`, is reused if it begins at `start` and is long enough. A new
    array is part of a longer array, so that the range can grow without page faults.
    """
    had = np.zeros(size // PAGE, np.uint8)
    whole = None if old is None else old.data.base
    if old is None or old.start != start or not isinstance(whole, np.ndarray) or len(whole) < size:
        return np.zeros(size + size // 8 + _SLACK, np.uint8)[:size], had
    had[: len(old.pages)] = old.pages[: len(had)]
    whole[size : len(old.data)] = 0
    return whole[:size], had


def memory_of(regions: Iterable[Region]) -> Memory:
    """Return non-overlapping regions in the form that the C code requires."""
    ordered = sorted(regions, key=lambda region: region.start)
    return Memory([(region.start, region.data) for region in ordered])


def in_regions(regions: Iterable[Region], address: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return a mask of the addresses in one of the regions."""
    found = np.zeros(len(address), np.bool_)
    for region in regions:
        found |= (address >= region.start) & (address < region.end)
    return found


def down(address: int, grain: int = PAGE) -> int:
    """Round down to a multiple of a power of two."""
    return address & -grain


def up(address: int, grain: int = PAGE) -> int:
    """Round up to a multiple of a power of two."""
    return -(-address // grain) * grain
