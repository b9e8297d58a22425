"""Pages of mimalloc: runs of slices, each for blocks of one size."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class Page:
    """A page. The last block of each list is the next one to be taken."""

    start: int
    slices: int
    block_size: int
    first: int
    """Address of the first block."""
    reserved: int
    """Maximum number of blocks."""
    capacity: int = 0
    """Number of blocks that have been on a list at any time."""
    used: int = 0
    """Number of blocks that are allocated, or wait for the owner to free them."""
    free: list[int] = field(default_factory=list)
    local: list[int] = field(default_factory=list)
    """Blocks that the owner freed."""
    remote: list[int] = field(default_factory=list)
    """Blocks that other threads freed, or that any thread freed while the page had no owner."""
    retire: int = 0
    """Number of collections until the empty page is freed, or 0 if it is not retired."""
    is_full: bool = False
    """True if the page is in the queue of full pages, which exists only in mimalloc 2."""
    is_new: bool = False
    """True if the page's slices were never used before and are therefore zero (mimalloc 3 only)."""
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
        """Return the start of the block that contains an address."""
        return address - (address - self.first) % self.block_size

    def use_local(self) -> None:
        """If no block is available, make the blocks available that the owner freed."""
        if not self.free:
            self.free, self.local = self.local, self.free
            self.is_zero = False

    def collect(self, keep_newest: int = 0) -> None:
        """Collect the blocks that other threads freed, except the newest `keep_newest`."""
        taken = len(self.remote) - keep_newest
        self.local += self.remote[:taken]
        del self.remote[:taken]
        self.used -= taken
        self.use_local()

    def collect_all(self) -> None:
        """Collect all blocks that other threads freed; already available blocks are taken last."""
        self.collect()
        if self.local:
            self.free += self.local
            self.local = []
            self.is_zero = False
