"""Lists of free blocks by size class, searched from the front."""

from __future__ import annotations

from simalloc.heap.reference.parts.classed_heap import ClassedHeap
from simalloc.heap.reference.parts.size_class import SizeClasses
from simalloc.policy.families.segregated_fit import ListFit, ListOrder, SegregatedFit


class SegregatedFitHeap(ClassedHeap):
    """Segregated fits (Wilson et al. 1995, 3.6; simalloc/policy/families/segregated_fit.md)."""

    def __init__(self, description: SegregatedFit) -> None:
        classes = SizeClasses(description.classes, description.interval, description.spacing)
        super().__init__(description, classes)
        self._fit = description.fit
        self._order = description.order
        # Addresses of the free blocks of each class, in list order.
        self._lists: list[list[int]] = [[] for _ in range(len(classes))]

    def listed(self) -> list[int]:
        """Return the blocks of all lists, list by list."""
        return [address for blocks in self._lists for address in blocks]

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        for number, blocks in enumerate(self._lists):
            sizes = [self.block_size(address) for address in blocks]
            assert all(self._classes.of(size) == number for size in sizes)
            if self._order is ListOrder.SIZE:
                assert sizes == sorted(sizes), "the list is in the order of sizes"

    def _search(self, number: int, size: int) -> tuple[int | None, int]:
        blocks = self._lists[number]
        if self._fit is ListFit.BEST:
            fitting = (block for block in blocks if self.block_size(block) >= size)
            # min() returns the first of equals, hence the first in list order.
            return min(fitting, key=self.block_size, default=None), len(blocks)
        for visited, block in enumerate(blocks, 1):
            if self.block_size(block) >= size:
                return block, visited
        return None, len(blocks)

    def _enter(self, address: int) -> int:
        """Enter at the front, or in front of the first block that is at least as large."""
        blocks = self._list_of(address)
        if self._order is ListOrder.LIFO:
            blocks.insert(0, address)
            return 1
        size = self.block_size(address)
        place = 0
        while place < len(blocks) and self.block_size(blocks[place]) < size:
            place += 1
        blocks.insert(place, address)
        return min(place + 1, len(blocks) - 1)

    def _leave(self, address: int) -> None:
        self._list_of(address).remove(address)

    def _keeps_place(self, whole: int, left: int) -> bool:
        return self._order is ListOrder.LIFO and super()._keeps_place(whole, left)

    def _move(self, address: int, rest: int) -> None:
        blocks = self._list_of(rest)
        blocks[blocks.index(address)] = rest

    def _list_of(self, address: int) -> list[int]:
        """Return the list of a free block's class."""
        return self._lists[self._classes.of(self.block_size(address))]
