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
        # The blocks of a list, known by the size that it begins with, newest first.
        self._lists = FreeLists(Order.LIFO)
        self._listed: SortedSet[int] = SortedSet()
        # The free block at the break: the used part of what the pool has left.
        self._tail: int | None = None

    def malloc(self, size: int) -> int:
        """Take the newest block of the first list whose blocks are all large enough; else the tail.

        The list that `size` itself belongs to is passed by, unless it begins with it.
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
        """Merge with both neighbours; the block is the newest of its list, or it is the tail."""
        self._enter(self._merge_freed(address, self._leave))

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Take a free successor whole if that is enough, then split; the last block may grow."""
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
        """Return the size that the list begins with which a block of `size` belongs to.

        Lists are a granule apart up to 32 granules, and then 32 to each doubling. Both are of what
        a block holds, without its header.
        """
        held = size - self._header
        return held - held % self._step(held)

    def _step(self, held: int) -> int:
        """Return the distance between the sizes of consecutive lists near a block size."""
        step = self._granule
        while held >= 64 * step:
            step *= 2
        return step

    def _find(self, size: int) -> int | None:
        """Return the newest block of the first list that has one, from the request's on."""
        held = size - self._header
        start = round_up(held, self._step(held))
        place = self._listed.bisect_left(start)
        return self._lists.first(self._listed[place]) if place < len(self._listed) else None

    def _enter(self, block: int) -> None:
        """Enter a free block in its list; the one at the break is the tail, and in none."""
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
        """Take the tail out, after the break was raised if that is too small."""
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
        """Return the bytes by which the break rises so that the tail has `size` bytes."""
        tail = 0 if self._tail is None else self.block_size(self._tail)
        return round_up(max(size - tail, 0), self._growth)

    def _grow_over(self, address: int, size: int) -> None:
        """Let the last allocated block grow over the tail, and raise the break as needed."""
        self._extended_tail(size - self.block_size(address))
        self._coalesce(address)
