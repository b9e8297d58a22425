"""Common part of the buddy systems: halving and merging."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from simalloc.heap.reference.parts.sized_heap import SizedHeap
from simalloc.heap.reference.space import State


class BuddyHeap(SizedHeap):
    """A heap of blocks that are halved on demand and merge with their buddies immediately.

    Johnstone & Wilson 1998, section 2.3. Each of the smallest sizes begins a series of doubled
    sizes. A block changes its size only within its series. The family defines the buddy of a block.
    """

    @abstractmethod
    def _buddies(self, address: int) -> Sequence[int]:
        """Return the addresses at which a block may have a buddy, whether or not it exists."""

    @abstractmethod
    def _grow_for(self, size: int) -> None:
        """Raise the break until there is a free block of at least `size`."""

    def malloc(self, size: int) -> int:
        """Take a free block of the smallest sufficient size in the series; halve it as needed."""
        size = self.rounded(size)
        found = self._smallest_free(size)
        self.visited = int(found is not None)
        if found is None:
            self._grow_for(size)
            found = self._smallest_free(size)
        assert found is not None, "the heap has grown enough"
        self._free.leave(found, self.block_size(found))
        self.blocks.mark(found, State.ALLOCATED)
        while self.block_size(found) > size:
            self._enter(self._split(found, self.block_size(found) // 2))
        return found

    def free(self, address: int) -> None:
        """Merge with the buddy as long as the buddy is a free block of the same size."""
        buddy = self._free_buddy(address)
        while buddy is not None:
            self._free.leave(buddy, self.block_size(buddy))
            self.blocks.mark(buddy, State.ALLOCATED)
            address = min(address, buddy)
            self._coalesce(address)
            buddy = self._free_buddy(address)
        self._enter(address)

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        for address, _ in self.free_blocks():
            assert self._free_buddy(address) is None, "free buddies have merged"

    def _smallest_free(self, size: int) -> int | None:
        """Return the first free block of the smallest available size in the series, or None."""
        while size <= self._free.largest:
            found = self._free.first(size)
            if found is not None:
                return found
            size *= 2
        return None

    def _free_buddy(self, address: int) -> int | None:
        """Return the first buddy that is a free block of the same size, or None."""
        size = self.block_size(address)
        for buddy in self._buddies(address):
            if self.blocks.is_free(buddy) and self.block_size(buddy) == size:
                return buddy
        return None

    def _enter(self, address: int) -> None:
        """Mark a block as free and list it, without merging."""
        self.blocks.mark(address, State.FREE)
        self._free.enter(address, self.block_size(address))
