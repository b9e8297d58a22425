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
"""Largest block in a page of one slice."""

LARGEST_MEDIUM = 128 * KIB
"""Largest block in a page of eight slices; larger blocks get a page each."""

LARGEST_IN_SEGMENT = 16 * MIB
"""Largest block in a shared segment; larger blocks get a segment each."""

_FIRST_BLOCK = 384
"""Offset of the first block in a page of blocks of up to 1 KiB."""


class Delayed(Enum):
    """Handling of a block of the page that another thread frees."""

    USE = auto()
    """The block is put on the owner's list, once."""
    NO = auto()
    """The block is put on the page's list."""
    NEVER = auto()
    """The block is always put on the page's list: the page has no owner."""


@dataclass(eq=False, slots=True, kw_only=True)
class Page(SomePage):
    """A page: a span of a segment."""

    segment: Segment
    index: int
    """First slice of the page."""
    owner: Theap | None
    delayed: Delayed = Delayed.USE


def slices_for(size: int) -> int:
    """Return the number of slices of a page for blocks of `size` bytes."""
    if size <= LARGEST_SMALL:
        return 1
    if size <= LARGEST_MEDIUM:
        return 8
    return round_up(size, SLICE if size <= 512 * KIB else 512 * KIB) // SLICE


def first_offset(size: int) -> int:
    """Return the offset of the first block in a page for blocks of `size` bytes."""
    return _FIRST_BLOCK if size <= KIB else 0
