"""Common part of the families that split blocks at any byte and coalesce freed blocks."""

from __future__ import annotations

from abc import abstractmethod

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.layers.trimming import trim_tail
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State
from simalloc.policy.parts import Splitting


class CoalescingHeap(Heap):
    """A heap that merges adjacent free blocks immediately, unless the family defers merging.

    Johnstone & Wilson 1998, sections 2.1.3, 2.2.2.
    """

    def __init__(self, parts: Splitting, growth: int) -> None:
        super().__init__()
        self._parts = parts
        self._growth = growth

    @abstractmethod
    def _leave(self, address: int) -> None:
        """Remove a free block from the family's structures."""

    @abstractmethod
    def _take(self, address: int, size: int) -> None:
        """Allocate the low end of a free block; the remainder keeps its role."""

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Cut off the block's high end, or add the low end of a free successor.

        policy/families/sequential_fit.md: In place; docs/policies.md, Parts: Minimum split.
        """
        missing = size - self.block_size(address)
        if missing <= -self._parts.minimum_split:
            self.free(self._split(address, size))
        elif missing > 0:
            successor = self.blocks.after(address)
            if not self.blocks.is_free(successor) or self.block_size(successor) < missing:
                return False
            self._take(successor, missing)
            self.blocks.join(address)
        return True

    def trim(self) -> None:
        """Lower the break if the free block that ends there is large enough."""
        trim_tail(self, self._parts, self._growth, self._leave)

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        self._check_merged()

    def _merge(self, address: int) -> int:
        """Free a block and merge it with its free neighbours; return the merged block's address."""
        return self._merge_freed(address, self._leave)

    def _growth_for(self, size: int) -> int:
        """Return the growth after which the block at the break has at least `size` bytes."""
        last = self.blocks.last
        if self._parts.count_tail and self.merges_new_memory and self.blocks.is_free(last):
            size -= self.block_size(last)
        return round_up(size, self._growth)

    def _allocate_low_end(self, address: int, size: int) -> int | None:
        """Allocate the low end of a free block; return the address of the remainder, or None."""
        left = self.block_size(address) - size
        rest = self._split(address, size) if left >= self._parts.minimum_split else None
        self.blocks.mark(address, State.ALLOCATED)
        return rest
