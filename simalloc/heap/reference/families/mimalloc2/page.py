"""Pages of mimalloc 2: spans of slices, each for blocks of one size."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from simalloc.heap.reference.families.mimalloc.block_sizes import KIB, MIB, SLICE, round_up
from simalloc.heap.reference.families.mimalloc.page import Page as SomePage
from simalloc.heap.reference.families.mimalloc2.segment import Segment

if TYPE_CHECKING:
    from simalloc.heap.reference.families.mimalloc2.theap import Theap

LARGEST_SMALL = 16 * KIB
"""The largest blocks of a page of one slice."""

LARGEST_MEDIUM = 128 * KIB
"""The largest blocks of a page of eight slices; above this each block has a page of its own."""

LARGEST_IN_SEGMENT = 16 * MIB
"""Above this each block has a segment of its own."""

_FIRST_BLOCK = 384
"""Offset of the first block in a page of blocks of up to 1 KiB."""


class Delayed(Enum):
    """Handling of a block of the page that another thread frees."""

    USE = auto()
    """It tells the owner by its list, once."""
    NO = auto()
    """It puts the block on the page's own list."""
    NEVER = auto()
    """The same, for good: nobody owns the page."""


@dataclass(eq=False, slots=True, kw_only=True)
class Page(SomePage):
    """A page: a span of a segment."""

    segment: Segment
    index: int
    """Its first slice."""
    owner: Theap | None
    delayed: Delayed = Delayed.USE


def slices_for(size: int) -> int:
    """Return the number of slices of a page for blocks of a size."""
    if size <= LARGEST_SMALL:
        return 1
    if size <= LARGEST_MEDIUM:
        return 8
    return round_up(size, SLICE if size <= 512 * KIB else 512 * KIB) // SLICE


def first_offset(size: int) -> int:
    """Return the offset of the first block of a size in its page."""
    return _FIRST_BLOCK if size <= KIB else 0
