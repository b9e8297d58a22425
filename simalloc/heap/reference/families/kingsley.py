"""Kingsley's allocator: powers of two, never split and never merged."""

from __future__ import annotations

from simalloc.heap.reference.parts.fixed_sizes import smallest_size
from simalloc.heap.reference.parts.sized_heap import RefilledHeap
from simalloc.heap.reference.space import State
from simalloc.policy.families.kingsley import Kingsley, Variant
from simalloc.policy.parts import Order

REFILL = 2048
"""Minimum growth of 4.2BSD's heap, in bytes."""


class KingsleyHeap(RefilledHeap):
    """The malloc of 4.2BSD or 4.4BSD; policy/families/kingsley.md."""

    def __init__(self, description: Kingsley) -> None:
        super().__init__(Order.LIFO, description.smallest)
        self._has_pages = description.variant is Variant.BSD_4_4
        self._page = description.page
        self._header = description.applied_overhead.header

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Keep the block if the new size needs a block of its size.

        In 4.2BSD, a slightly smaller size keeps the block too.
        """
        block = self.block_size(address)
        if self._has_pages:
            return self.rounded(size) == block
        half = (block - self._header) // 2
        return self._header <= half < size <= block

    def rounded(self, size: int) -> int:
        """Return the block size: a power of two; in 4.4BSD, a page more if it is large."""
        if self._has_pages and size > self._page // 2:
            return smallest_size(size - self._page, self._page) + self._page
        return super().rounded(size)

    def _refill(self, size: int) -> int:
        """Grow, and cut the new memory into blocks; return the lowest, and free the others."""
        if self._has_pages and self._header % self._page and not self.brk:
            self.blocks.mark(self._grow(-self._header % self._page), State.WASTE)
        lowest = self._grow(max(self._page if self._has_pages else REFILL, size))
        cut = lowest
        while self.block_size(cut) > size:
            cut = self.blocks.cut(cut, size)
        for address in range(cut, lowest, -size):
            self.free(address)
        return lowest
