"""A list for each size of block; blocks are neither split nor coalesced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.heap.reference.blocks import State
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.sizes import FreeLists, smallest_size
from simalloc.policy.parts import Order, Series

if TYPE_CHECKING:
    from simalloc.policy.families import SegregatedStorage


class SegregatedStorageHeap(Heap):
    """Simple segregated storage (Johnstone & Wilson 1998, section 2.2.1; docs/policies.md)."""

    def __init__(self, description: SegregatedStorage) -> None:
        super().__init__()
        self._growth = description.growth
        self._growth_3x = description.growth_3x
        base = description.smallest
        threes = description.series is Series.POWERS_AND_THREES
        self._bases = (base, base * 3 // 2) if threes else (base,)
        self._free = FreeLists(Order.LIFO)

    def malloc(self, size: int) -> int:
        """Take the block that entered the list of its size last, or refill that list."""
        size = smallest_size(size, *self._bases)
        address = self._free.first(size)
        self.visited = int(address is not None)
        if address is None:
            return self._refill(size)
        self._free.leave(address, size)
        self.blocks.mark(address, State.ALLOCATED)
        return address

    def free(self, address: int) -> None:
        """Enter the block in the list of its size."""
        self.blocks.mark(address, State.FREE)
        self._free.enter(address, self.block_size(address))

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Stay if the new size takes the same size of block."""
        return smallest_size(size, *self._bases) == self.block_size(address)

    def listed(self) -> list[int]:
        """Return the blocks in the lists."""
        return list(self._free)

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        for address, state in self.blocks.state.items():
            size = self.block_size(address)
            if state is not State.WASTE:
                assert smallest_size(size, *self._bases) == size, "a block has a size of the series"

    def _refill(self, size: int) -> int:
        """Raise the break by a unit cut into blocks, or by one block that is larger than it.

        Returns the lowest block; the others enter so that the lowest comes next.
        """
        unit = self._growth_3x if size % 3 == 0 else self._growth
        lowest = self._grow(max(unit, size))
        blocks = max(unit // size, 1)
        cut = lowest
        for _ in range(blocks - 1):
            cut = self.blocks.cut(cut, size)
        if self.block_size(cut) > size:
            self.blocks.mark(self.blocks.cut(cut, size), State.WASTE)
        for address in range(cut, lowest, -size):
            self.free(address)
        return lowest
