"""Common part of the families that keep free blocks by size class and cut them at any byte."""

from __future__ import annotations

from abc import abstractmethod

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.layers.trimming import trim_tail
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.parts.size_class import SizeClasses
from simalloc.heap.reference.space import State
from simalloc.policy.families.address_trees import AddressTrees
from simalloc.policy.families.segregated_fit import SegregatedFit
from simalloc.policy.parts import Coalescing


class ClassedHeap(Heap):
    """A heap that keeps its free blocks by size class, with a separate structure per class.

    The policy decides whether adjacent free blocks merge.
    """

    counts_frees = True

    def __init__(self, description: AddressTrees | SegregatedFit, classes: SizeClasses) -> None:
        super().__init__()
        self._classes = classes
        self._coalescing = description.coalescing
        self._parts = description
        self._growth = description.growth
        self._min = max(description.minimum_split, description.applied_overhead.minimum)
        self._counts_tail = description.count_tail and self._coalescing is Coalescing.ALL

    @abstractmethod
    def _search(self, number: int, size: int) -> tuple[int | None, int]:
        """Return the block to use in a class, or None, and the number of visited blocks."""

    @abstractmethod
    def _enter(self, address: int) -> int:
        """Put a free block into its class; return the number of visited blocks."""

    @abstractmethod
    def _leave(self, address: int) -> None:
        """Remove a free block from its class."""

    @abstractmethod
    def _move(self, address: int, rest: int) -> None:
        """Put the free block `rest` in the place of the block that began at `address`."""

    def malloc(self, size: int) -> int:
        """Search from the request's class upwards, or grow; allocate the block's low end."""
        found, self.visited = self._find(size)
        if found is not None:
            self.visited += self._take(found, size)
            return found
        self._grow_for(size)
        found, _ = self._find(size)
        assert found is not None, "the heap has grown enough"
        self._take(found, size)
        return found

    def free(self, address: int) -> None:
        """Merge with free neighbours if the policy merges; enter the class of the block's size."""
        coalescings = self.coalescings
        visited = self._release(address)
        self.count_deallocation(visited, merged=self.coalescings != coalescings)

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Cut off the high end, or add the low end of a free successor."""
        missing = size - self.block_size(address)
        if missing < 0 and -missing >= self._min:
            self._release(self._split(address, size))
        if missing <= 0:
            return True
        successor = self.blocks.after(address)
        if self._coalescing is Coalescing.NONE:
            return False
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
        if self._coalescing is Coalescing.ALL:
            self._check_merged()

    def _find(self, size: int) -> tuple[int | None, int]:
        """Return the block to use, or None, and the number of visited blocks in all classes."""
        visited = 0
        for number in range(self._classes.of(size), len(self._classes)):
            found, searched = self._search(number, size)
            visited += searched
            if found is not None:
                return found, visited
        return None, visited

    def _take(self, address: int, size: int) -> int:
        """Allocate the low end of a block; return the blocks visited to enter the remainder."""
        whole = self.block_size(address)
        left = whole - size
        splits = left > 0 and left >= self._min
        stays = splits and self._keeps_place(whole, left)
        if not stays:
            self._leave(address)
        rest = self._split(address, size) if splits else None
        self.blocks.mark(address, State.ALLOCATED)
        if rest is None:
            return 0
        if not stays:
            return self._enter(rest)
        self._move(address, rest)
        return 0

    def _keeps_place(self, whole: int, left: int) -> bool:
        """Return whether a remainder of `left` bytes takes the place of a block of `whole`."""
        return self._classes.of(whole) == self._classes.of(left)

    def _release(self, address: int) -> int:
        """Free a block; return the number of visited blocks."""
        if self._coalescing is Coalescing.ALL:
            return self._enter(self._merge_freed(address, self._leave))
        self.blocks.mark(address, State.FREE)
        return self._enter(address)

    def _grow_for(self, size: int) -> None:
        """Raise the break for a request; the new memory is released like a freed block."""
        tail = self.blocks.last
        if self._counts_tail and self.blocks.is_free(tail):
            size -= self.block_size(tail)
        self._release(self._grow(round_up(size, self._growth)))
