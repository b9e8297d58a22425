"""TLSF: lists by size in two levels, without a search in any list."""

from __future__ import annotations

from sortedcontainers import SortedSet

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.fixed_sizes import FreeLists
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State
from simalloc.policy.families.tlsf import Tlsf
from simalloc.policy.parts import Order


class TlsfHeap(Heap):
    """Two-level segregated fit (policy/families/tlsf.md)."""

    def __init__(self, description: Tlsf) -> None:
        super().__init__()
        overhead = description.applied_overhead
        self._header = overhead.header
        self._min = max(overhead.minimum, description.minimum_split)
        self._granule = description.word
        self._growth = description.growth
        self._table = description.table if description.mechanism else 0
        # Lists by the smallest size of their blocks, the newest block first.
        self._lists = FreeLists(Order.LIFO)
        self._listed: SortedSet[int] = SortedSet()
        # Free block at the break: the used part of the remaining pool.
        self._tail: int | None = None

    def malloc(self, size: int) -> int:
        """Take the newest block of the first list whose blocks all fit; else the tail.

        The list of `size` itself is skipped unless `size` is its smallest size.
        """
        if self._table and not self.brk:
            self.blocks.mark(self._grow(self._table), State.TABLE)
        block = self._find(size)
        self.visited = int(block is not None)
        least = self._min
        if block is None:
            block = self._extended_tail(size)
            least = 1
        else:
            self._leave(block)
        self.blocks.mark(block, State.ALLOCATED)
        self._split_off(block, size, least)
        return block

    def free(self, address: int) -> None:
        """Merge with both neighbours; the block becomes the newest of its list, or the tail."""
        self._enter(self._merge_freed(address, self._leave))

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Join a whole free successor if it suffices, then split; the last block may grow."""
        held = self.block_size(address)
        if size > held:
            above = self.blocks.after(address)
            if above is None or above == self._tail:
                if not self.blocks.has_room(self._growth_for(size - held)):
                    return False
                self._grow_over(address, size)
                self._split_off(address, size, 1)
                return True
            if self.blocks.is_free(above) and held + self.block_size(above) >= size:
                self._leave(above)
                self._coalesce(address)
            else:
                return False
        self._split_off(address, size, self._min)
        return True

    def listed(self) -> list[int]:
        """Return the blocks of all lists, and the tail."""
        return [*self._lists, *([] if self._tail is None else [self._tail])]

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        last = self.blocks.before(self.brk) if self.brk else None
        assert self._tail == (last if self.blocks.is_free(last) else None)
        self._check_merged()

    def _list(self, size: int) -> int:
        """Return the smallest size, without header, of the list for blocks of `size`.

        Lists are one granule apart up to 32 granules. Above, each doubling has 32 lists. These
        sizes exclude the header.
        """
        held = size - self._header
        return held - held % self._step(held)

    def _step(self, held: int) -> int:
        """Return the distance between neighbouring lists near a size."""
        step = self._granule
        while held >= 64 * step:
            step *= 2
        return step

    def _find(self, size: int) -> int | None:
        """Return the newest block of the first nonempty list whose blocks all fit, or None."""
        held = size - self._header
        start = round_up(held, self._step(held))
        place = self._listed.bisect_left(start)
        return self._lists.first(self._listed[place]) if place < len(self._listed) else None

    def _enter(self, block: int) -> None:
        """Enter a free block in its list; the block at the break is the tail, in no list."""
        if block + self.block_size(block) == self.brk:
            self._tail = block
            return
        start = self._list(self.block_size(block))
        self._lists.enter(block, start)
        self._listed.add(start)

    def _leave(self, block: int) -> None:
        if block == self._tail:
            self._tail = None
            return
        start = self._list(self.block_size(block))
        self._lists.leave(block, start)
        if self._lists.first(start) is None:
            self._listed.remove(start)

    def _split_off(self, block: int, size: int, least: int) -> None:
        """Free the excess of an allocated block, if it has at least `least` bytes."""
        if self.block_size(block) - size >= least:
            self.free(self._split(block, size))

    def _extended_tail(self, size: int) -> int:
        """Remove and return the tail; raise the break first if the tail is too small."""
        growth = self._growth_for(size)
        if self._tail is None:
            return self._grow(growth)
        tail = self._tail
        if growth:
            self.blocks.mark(self._grow(growth), State.FREE)
            self._coalesce(tail)
        self._tail = None
        return tail

    def _growth_for(self, size: int) -> int:
        """Return the growth after which the tail has at least `size` bytes."""
        tail = 0 if self._tail is None else self.block_size(self._tail)
        return round_up(max(size - tail, 0), self._growth)

    def _grow_over(self, address: int, size: int) -> None:
        """Extend the last allocated block over the tail, and raise the break as needed."""
        self._extended_tail(size - self.block_size(address))
        self._coalesce(address)
