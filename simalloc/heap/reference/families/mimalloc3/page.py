"""Pages of mimalloc 3: runs of slices, each for blocks of one size."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simalloc.heap.reference.families.mimalloc.sizes import KIB, SLICE, lowest_bit, round_up

if TYPE_CHECKING:
    from simalloc.heap.reference.families.mimalloc3.arena import Mapping
    from simalloc.heap.reference.families.mimalloc3.theap import Theap

LARGEST_SMALL = 10 * KIB
"""The largest blocks of a page of one slice."""

LARGEST_MEDIUM = 86698
"""The largest blocks of a page of eight slices; those of 65536 bytes have larger ones."""

LARGEST_BLOCK = 512 * KIB
"""Above this each block has a page of its own, a singleton."""

HEADER = 128
"""The bytes of a page's header; a small page has it in front of its blocks."""

FARTHEST_OFFSET = 4096 - HEADER
"""The farthest that the first block of a page may lie behind the page's start, if not small."""

FARTHEST_COLOUR = 448
"""The farthest that the first block of a small page is moved, so that caches are used evenly."""


@dataclass(eq=False, slots=True)
class Page:
    """A page. Its lists have the block that comes next at their end."""

    mapping: Mapping
    start: int
    slices: int
    block_size: int
    first: int
    """The address of the first block."""
    reserved: int
    """How many blocks there is room for."""
    capacity: int = 0
    """How many of them have ever been on a list."""
    used: int = 0
    """How many are allocated, or wait in `remote`."""
    free: list[int] = field(default_factory=list)
    local: list[int] = field(default_factory=list)
    """Blocks that the owner freed."""
    remote: list[int] = field(default_factory=list)
    """Blocks that others freed, or anyone while nobody was the owner."""
    retire: int = 0
    """How many collections of retired pages an empty page has left; 0: it is not retired."""
    owner: Theap | None = None
    former: Theap | None = None
    """The latest owner."""
    is_new: bool = False
    """Whether its slices were never used before, so that they are zero."""
    is_zero: bool = False
    """Whether the blocks that come next were never used."""
    is_marked: bool = False
    """Whether it is in its arena's map of abandoned pages."""

    @property
    def is_small(self) -> bool:
        """Whether it is one slice, whose blocks have up to 10 KiB."""
        return self.block_size <= LARGEST_SMALL

    @property
    def is_singleton(self) -> bool:
        """Whether it is for one block only, a large one or one that is aligned to more than 64K."""
        return self.reserved == 1

    @property
    def is_expandable(self) -> bool:
        """Whether blocks are left that were never on a list."""
        return self.capacity < self.reserved

    @property
    def unused(self) -> int:
        """How many blocks could still be allocated."""
        return self.reserved - self.used

    def slot(self, address: int) -> int:
        """Return the start of the block in which an address lies."""
        return address - (address - self.first) % self.block_size

    def use_local(self) -> None:
        """Let the blocks that the owner freed come next, if no other block does."""
        if not self.free:
            self.free, self.local = self.local, self.free
            self.is_zero = False

    def collect(self, keep_newest: int = 0) -> None:
        """Take over what others freed, but for so many that came last."""
        taken = len(self.remote) - keep_newest
        self.local += self.remote[:taken]
        del self.remote[:taken]
        self.used -= taken
        self.use_local()

    def collect_all(self) -> None:
        """Take over what others freed; the blocks that would have come next come last."""
        self.collect()
        if self.local:
            self.free += self.local
            self.local = []
            self.is_zero = False


def slices_for(size: int, *, mechanism: bool) -> int:
    """Return how many slices a page for blocks of a size has."""
    if size > LARGEST_BLOCK:
        return round_up(size + (FARTHEST_OFFSET if mechanism else 0), SLICE) // SLICE
    if size <= LARGEST_SMALL:
        return 1
    return 8 if size <= LARGEST_MEDIUM and size != SLICE else 64


def natural_alignment(size: int) -> int:
    """Return what divides the addresses of all blocks of a size."""
    if size == lowest_bit(size) <= 4096 or size <= KIB:
        return lowest_bit(size)
    if size % 4096 == 0:
        return 4096 if size <= LARGEST_SMALL else HEADER
    return min(lowest_bit(size), 16)


def first_block(size: int, slices: int, start: int) -> int:
    """Return where the first block lies in a page that begins at an absolute address."""
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
    """Return a number below `choices` that is a hash of a page's absolute address."""
    high = (start // SLICE // slices * 0x9E3779B97F4A7C15 % (1 << 64)) >> 48
    return high * choices >> 16
