"""A list for each size of block; blocks are neither split nor coalesced."""

from __future__ import annotations

from simalloc.heap.reference.parts.sized_heap import RefilledHeap
from simalloc.heap.reference.space import State
from simalloc.policy.families.segregated_storage import SegregatedStorage
from simalloc.policy.parts import Order, Series


class SegregatedStorageHeap(RefilledHeap):
    """Simple segregated storage.

    Johnstone & Wilson 1998, section 2.2.1; policy/families/segregated_storage.md.
    """

    def __init__(self, description: SegregatedStorage) -> None:
        base = description.smallest
        threes = description.series is Series.POWERS_AND_THREES
        super().__init__(Order.LIFO, *((base, base * 3 // 2) if threes else (base,)))
        self._growth = description.growth
        self._growth_3x = description.growth_3x

    def _refill(self, size: int) -> int:
        """Raise the break by a unit cut into blocks, or by one block larger than the unit.

        Returns the lowest block. The other blocks are freed so that the lowest is taken next.
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
