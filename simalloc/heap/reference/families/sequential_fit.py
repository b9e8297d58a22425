"""First, next, best and worst fit over one list of free blocks, in any of three orders."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from itertools import pairwise

from simalloc.heap.reference.parts.coalescing import CoalescingHeap
from simalloc.heap.reference.space import State
from simalloc.policy.families.sequential_fit import SequentialFit
from simalloc.policy.parts import CoalescingTime, Fit, Order


class SequentialFitHeap(CoalescingHeap):
    """The sequential fits.

    Johnstone & Wilson 1998, section 2.1; policy/families/sequential_fit.md.

    The list is walked as the papers describe it, so that a search counts the visited blocks.
    """

    def __init__(self, description: SequentialFit) -> None:
        super().__init__(description, description.growth)
        self._fit = description.fit
        self._order = description.order
        self._coalescing = description.coalescing
        self.merges_new_memory = description.coalescing is not CoalescingTime.NONE
        # Free blocks by address, in list order; for next fit the list is a circle.
        self._list: list[int] = []
        # Block where the next search of next fit starts; None only if the list is empty.
        self._rover: int | None = None

    def malloc(self, size: int) -> int:
        """Search; if nothing fits, merge or grow and search again; use the block's low end.

        policy/families/sequential_fit.md: Allocation, Coalescing, Growth, Visited.
        """
        found, self.visited = self._search(size)
        if found is None and self._coalescing is CoalescingTime.DEFERRED:
            self._merge_everywhere()
            found, _ = self._search(size)
        if found is None:
            self._grow_for(size)
            found, _ = self._search(size)
        assert found is not None, "the heap has grown enough"
        self._rover = found  # _take() moves it to the remainder or the next block
        self._take(found, size)
        return found

    def free(self, address: int) -> None:
        """Merge with free neighbours if coalescing is immediate; enter the list."""
        if self._coalescing is CoalescingTime.IMMEDIATE:
            address = self._merge(address)
        else:
            self.blocks.mark(address, State.FREE)
        self._enter(address)

    def walk_to(self, address: int) -> int:
        """Return the blocks visited to find a freed block's place in an address-ordered list."""
        if self._order is not Order.ADDRESS:
            return 0
        walk = self._from_the_start()
        for visited, (before, block) in enumerate(pairwise([*walk[-1:], *walk]), 1):
            is_lowest = before >= block
            if address < block and (is_lowest or before < address):
                return visited
            if is_lowest and before < address and self._fit is Fit.NEXT:
                return visited  # above all other blocks: its place is the end of the list
        return len(walk)

    def listed(self) -> Sequence[int]:
        """Return the list in its order."""
        return self._list

    @property
    def rover(self) -> int | None:
        """Address of the block where next fit searches first, or None if the list is empty."""
        return self._rover

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        assert len(set(self._list)) == len(self._list), "a block is in the list once"
        if self._order is Order.ADDRESS:
            assert self._list == sorted(self._list), "the list is in the order of addresses"
        if self._list:
            assert self._rover in self._list, "the rover is at a free block"
        else:
            assert self._rover is None

    def _check_merged(self) -> None:
        if self._coalescing is CoalescingTime.IMMEDIATE:
            super()._check_merged()

    def _search(self, size: int) -> tuple[int | None, int]:
        """Return the block to use, if one is large enough, and the number of visited blocks."""
        sizes = self.blocks.size
        if self._fit in (Fit.BEST, Fit.WORST):
            fitting = (block for block in self._list if sizes[block] >= size)
            # min() and max() return the first of equals, hence the first in list order.
            choose = min if self._fit is Fit.BEST else max
            return choose(fitting, key=sizes.__getitem__, default=None), len(self._list)
        for visited, block in enumerate(self._from_the_start(), 1):
            if sizes[block] >= size:
                return block, visited
        return None, len(self._list)

    def _from_the_start(self) -> list[int]:
        """Return the list from the start of a search: its front, or for next fit the rover."""
        if self._fit is not Fit.NEXT or self._rover is None:
            return self._list
        start = self._list.index(self._rover)
        return self._list[start:] + self._list[:start]

    def _grow_for(self, size: int) -> None:
        """Raise the break for a request; the new memory enters like a freed block."""
        new = self._grow(self._growth_for(size))
        if self.merges_new_memory:
            new = self._merge(new)
        else:
            self.blocks.mark(new, State.FREE)
        self._enter(new)

    def _merge_everywhere(self) -> None:
        """Merge each run of adjacent free blocks, from the lowest address up.

        policy/families/sequential_fit.md: Coalescing.
        """
        run: list[int] = []
        for address, _ in self.free_blocks():
            if run and self.blocks.after(run[-1]) != address:
                self._merge_run(run)
                run = []
            run.append(address)
        self._merge_run(run)

    def _merge_run(self, run: list[int]) -> None:
        """Merge several listed blocks into one, which enters the list like a freed block."""
        if len(run) < 2:
            return
        for address in run:
            self._leave(address)
        for _ in run[1:]:
            self._coalesce(run[0])
        self._enter(run[0])

    def _enter(self, address: int) -> None:
        """Put a newly freed block into the list (policy/families/sequential_fit.md: Free)."""
        if self._order is Order.ADDRESS:
            insort(self._list, address)
        elif self._fit is Fit.NEXT and self._rover is not None:
            self._list.insert(self._list.index(self._rover), address)
            if self._order is Order.LIFO:
                self._rover = address
        elif self._order is Order.LIFO:
            self._list.insert(0, address)
        else:
            self._list.append(address)
        if self._rover is None:
            self._rover = address

    def _take(self, address: int, size: int) -> None:
        """Allocate the low end; the remainder inherits the place in the list, and the rover."""
        rest = self._allocate_low_end(address, size)
        if rest is None:
            self._leave(address)
            return
        self._list[self._list.index(address)] = rest
        if self._rover == address:
            self._rover = rest

    def _leave(self, address: int) -> None:
        """Take a block out of the list; a rover on it moves to the block that followed."""
        place = self._list.index(address)
        del self._list[place]
        if self._rover == address:
            self._rover = self._list[place % len(self._list)] if self._list else None
