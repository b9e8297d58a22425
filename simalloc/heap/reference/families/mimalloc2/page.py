"""Pages of mimalloc 2: spans of slices, each for blocks of one size."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from simalloc.heap.reference.families.mimalloc.sizes import KIB, MIB, SLICE, round_up

if TYPE_CHECKING:
    from simalloc.heap.reference.families.mimalloc2.segment import Segment
    from simalloc.heap.reference.families.mimalloc2.theap import Theap

LARGEST_SMALL = 16 * KIB
"""The largest blocks of a page of one slice."""

LARGEST_MEDIUM = 128 * KIB
"""The largest blocks of a page of eight slices; above this each block has a page of its own."""

LARGEST_IN_SEGMENT = 16 * MIB
"""Above this each block has a segment of its own."""

_FIRST_BLOCK = 384
"""Where blocks begin in a page if they have up to 1 KiB."""


class Delayed(Enum):
    """What another thread does with a block of the page that it frees."""

    USE = auto()
    """It tells the owner by its list, once."""
    NO = auto()
    """It puts the block on the page's own list."""
    NEVER = auto()
    """The same, for good: nobody owns the page."""


@dataclass(eq=False, slots=True)
class Page:
    """A page. Its lists have the block that comes next at their end."""

    segment: Segment
    index: int
    """Its first slice."""
    slices: int
    block_size: int
    first: int
    """The address of the first block."""
    reserved: int
    """How many blocks there is room for."""
    capacity: int = 0
    """How many of them have ever been on a list."""
    used: int = 0
    """How many are allocated, or wait for the owner to free them."""
    free: list[int] = field(default_factory=list)
    local: list[int] = field(default_factory=list)
    """Blocks that the owner freed."""
    remote: list[int] = field(default_factory=list)
    """Blocks that other threads freed."""
    retire: int = 0
    """How many collections of retired pages an empty page has left; 0: it is not retired."""
    owner: Theap | None = None
    is_full: bool = False
    """Whether it is in the queue of full pages."""
    delayed: Delayed = Delayed.USE

    @property
    def is_single(self) -> bool:
        """Whether it is for one block only."""
        return self.block_size > LARGEST_MEDIUM

    @property
    def is_expandable(self) -> bool:
        """Whether blocks are left that were never on a list."""
        return self.capacity < self.reserved

    def slot(self, address: int) -> int:
        """Return the start of the block in which an address lies."""
        return address - (address - self.first) % self.block_size

    def collect(self) -> None:
        """Take over what others freed; let freed blocks come next if no other does."""
        self.local += self.remote
        self.used -= len(self.remote)
        self.remote = []
        if not self.free:
            self.free, self.local = self.local, self.free

    def collect_all(self) -> None:
        """Take over what others freed; the blocks that would have come next come last."""
        self.collect()
        self.free += self.local
        self.local = []


def slices_for(size: int) -> int:
    """Return how many slices a page for blocks of a size has."""
    if size <= LARGEST_SMALL:
        return 1
    if size <= LARGEST_MEDIUM:
        return 8
    return round_up(size, SLICE if size <= 512 * KIB else 512 * KIB) // SLICE


def first_offset(size: int) -> int:
    """Return how far behind its page's start the first block of a size lies."""
    return _FIRST_BLOCK if size <= KIB else 0
