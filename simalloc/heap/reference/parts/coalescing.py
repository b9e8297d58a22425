"""What the families share that split blocks at any byte and coalesce freed ones at once."""

from __future__ import annotations

from abc import abstractmethod

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.space import State


class CoalescingHeap(Heap):
    """A heap without two adjacent free blocks (Johnstone & Wilson 1998, sections 2.1.3, 2.2.2)."""

    @abstractmethod
    def _leave(self, address: int) -> None:
        """Take a free block out of the family's structures."""

    @abstractmethod
    def _take(self, address: int, size: int) -> None:
        """Allocate the low end of a free block; what is left of it keeps its part."""

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Cut the block's high end off, or take the low end of a free successor.

        docs/policies.md, Sequential fit: In place.
        """
        missing = size - self.block_size(address)
        if missing < 0:
            self.free(self._split(address, size))
        elif missing > 0:
            successor = self.blocks.after(address)
            if successor is None or not self.blocks.is_free(successor):
                return False
            if self.block_size(successor) < missing:
                return False
            self._take(successor, missing)
            self.blocks.join(address)
        return True

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        for address, _ in self.free_blocks():
            assert not self.blocks.free_neighbours(address), "free neighbours have coalesced"

    def _merge(self, address: int) -> int:
        """Free a block and merge it with its free neighbours, which leave; return its address."""
        self.blocks.mark(address, State.FREE)
        neighbours = self.blocks.free_neighbours(address)
        for neighbour in neighbours:
            self._leave(neighbour)
        merged = min([address, *neighbours])
        for _ in neighbours:
            self._coalesce(merged)
        return merged

    def _allocate_low_end(self, address: int, size: int) -> int | None:
        """Allocate the low end of a free block; return the address of what is left, if any is."""
        rest = self._split(address, size) if self.block_size(address) > size else None
        self.blocks.mark(address, State.ALLOCATED)
        return rest
