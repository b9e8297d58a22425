"""Pages of mimalloc: runs of slices, each for blocks of one size."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class Page:
    """A page. Its lists have the block that comes next at their end."""

    start: int
    slices: int
    block_size: int
    first: int
    """The address of the first block."""
    reserved: int
    """Maximum number of blocks."""
    capacity: int = 0
    """Number of blocks that have ever been on a list."""
    used: int = 0
    """Number of blocks that are allocated, or wait for the owner to free them."""
    free: list[int] = field(default_factory=list)
    local: list[int] = field(default_factory=list)
    """Blocks that the owner freed."""
    remote: list[int] = field(default_factory=list)
    """Blocks that others freed, or anyone while nobody was the owner."""
    retire: int = 0
    """Collections of retired pages until an empty page is freed, or 0 if it is not retired."""
    is_full: bool = False
    """True if it is in the queue of full pages, which only mimalloc 2 has."""
    is_new: bool = False
    """True if its slices were never used before and are therefore zero (mimalloc 3 only)."""
    is_zero: bool = False
    """True if the next blocks were never used."""

    @property
    def is_single(self) -> bool:
        """True for a page of one block, which is large or aligned to more than 64K."""
        return self.reserved == 1

    @property
    def is_expandable(self) -> bool:
        """True if some blocks were never on a list."""
        return self.capacity < self.reserved

    @property
    def unused(self) -> int:
        """Number of blocks that could still be allocated."""
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
        """Take over the blocks that others freed, except the newest `keep_newest`."""
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
