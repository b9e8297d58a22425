"""Modified binary buddy: any two adjacent free blocks of a size merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.heap.reference.parts.sized_heap import SizedHeap
from simalloc.heap.reference.space import State

if TYPE_CHECKING:
    from simalloc.policy.families.modified_buddy import ModifiedBuddy


class ModifiedBuddyHeap(SizedHeap):
    """Modified binary buddy (policy/families/modified_buddy.md)."""

    def __init__(self, description: ModifiedBuddy) -> None:
        super().__init__(description.order, description.smallest)
        self._growth = description.growth

    def malloc(self, size: int) -> int:
        """Take a free block of the smallest size that will do, and halve it down."""
        size = self.rounded(size)
        found = self._smallest_free(size)
        self.visited = int(found is not None)
        if found is None:
            found = self._grow(max(size, self._growth))
        else:
            self._free.leave(found, self.block_size(found))
            self.blocks.mark(found, State.ALLOCATED)
        while self.block_size(found) > size:
            half = self._split(found, self.block_size(found) // 2)
            self.blocks.mark(half, State.FREE)
            self._free.enter(half, self.block_size(half))
        return found

    def free(self, address: int) -> None:
        """Merge with a neighbour of the same size, the lower one first, as long as there is one."""
        self.blocks.mark(address, State.FREE)
        neighbour = self._equal_neighbour(address)
        while neighbour is not None:
            self._free.leave(neighbour, self.block_size(neighbour))
            address = min(address, neighbour)
            self._coalesce(address)
            neighbour = self._equal_neighbour(address)
        self._free.enter(address, self.block_size(address))

    def _smallest_free(self, size: int) -> int | None:
        """Return the first free block of the smallest size from `size` on."""
        while size <= self._free.largest:
            found = self._free.first(size)
            if found is not None:
                return found
            size *= 2
        return None

    def _equal_neighbour(self, address: int) -> int | None:
        """Return the free neighbour of the same size; of two the one below."""
        size = self.block_size(address)
        neighbours = self.blocks.free_neighbours(address)
        return next((block for block in neighbours if self.block_size(block) == size), None)
