"""Pages of mimalloc 3: runs of slices, each for blocks of one size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simalloc.heap.reference.families.mimalloc.block_sizes import KIB, SLICE, lowest_bit, round_up
from simalloc.heap.reference.families.mimalloc.page import Page as SomePage

if TYPE_CHECKING:
    from simalloc.heap.reference.families.mimalloc3.arena import Mapping
    from simalloc.heap.reference.families.mimalloc3.theap import Theap

LARGEST_SMALL = 10 * KIB
"""Largest block in a page of one slice."""

LARGEST_MEDIUM = 86698
"""Largest block in a page of eight slices. Blocks of 65,536 bytes use larger pages."""

LARGEST_BLOCK = 512 * KIB
"""Largest block in a shared page; a larger block gets a separate page, a singleton."""

HEADER = 128
"""Bytes of a page's header. A small page has its header in front of its blocks."""

FARTHEST_OFFSET = 4096 - HEADER
"""Maximum offset of the first block in a page that is not small."""

FARTHEST_COLOUR = 448
"""Maximum displacement of a small page's first block, which spreads blocks over cache sets."""


@dataclass(eq=False, slots=True, kw_only=True)
class Page(SomePage):
    """A page, its mapping and its owners."""

    mapping: Mapping
    owner: Theap | None
    former: Theap
    """Latest owner."""
    is_marked: bool = False
    """True if the page is in its arena's map of abandoned pages."""

    @property
    def is_small(self) -> bool:
        """True if the page is one slice, with blocks of up to 10 KiB."""
        return self.block_size <= LARGEST_SMALL


def slices_for(size: int, *, mechanism: bool) -> int:
    """Return the number of slices of a page for blocks of `size` bytes."""
    if size > LARGEST_BLOCK:
        return round_up(size + (FARTHEST_OFFSET if mechanism else 0), SLICE) // SLICE
    if size <= LARGEST_SMALL:
        return 1
    return 8 if size <= LARGEST_MEDIUM and size != SLICE else 64


def natural_alignment(size: int) -> int:
    """Return the largest power of two that divides the addresses of all blocks of a size."""
    if size == lowest_bit(size) <= 4096 or size <= KIB:
        return lowest_bit(size)
    if size % 4096 == 0:
        return 4096 if size <= LARGEST_SMALL else HEADER
    return min(lowest_bit(size), 16)


def first_block(size: int, slices: int, start: int) -> int:
    """Return the offset of the first block in a page with the absolute address `start`."""
    room = slices * SLICE
    if size <= LARGEST_SMALL:
        unit = size if size == lowest_bit(size) <= 4096 or size <= KIB else HEADER
        if unit == HEADER and size % 4096 == 0:
            unit = 4096
        offset = round_up(round_up(HEADER, unit), 16)
        step = max(64, natural_alignment(size))
        if step > FARTHEST_COLOUR:
            return offset
        return offset + step * scatter(1 + FARTHEST_COLOUR // step, slices, start)
    slack = room % size
    if slack < HEADER and size < room // 8:
        slack += size
    return HEADER * scatter(1 + min(slack, FARTHEST_OFFSET) // HEADER, slices, start)


def scatter(choices: int, slices: int, start: int) -> int:
    """Return a number below `choices`: a hash of a page's absolute address."""
    high = (start // SLICE // slices * 0x9E3779B97F4A7C15 % (1 << 64)) >> 48
    return high * choices >> 16
