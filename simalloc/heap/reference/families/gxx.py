"""The malloc of libg++: Doug Lea's version 2.5 (simalloc/policy/families/gxx.md)."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State
from simalloc.policy.families.gxx import Gxx

_SMALL_BELOW = 144
"""Sizes below this limit have a bin each."""


class GxxHeap(Heap):
    """Freed blocks wait on a list, then in dirty and clean bins; merging only on demand.

    A returned block waits on the list and is cached. Dirty blocks were freed and have not been
    merged, but another block may merge with them. Clean blocks are remainders or results of
    merging.
    """

    def __init__(self, description: Gxx) -> None:
        super().__init__()
        overhead = description.large_overhead
        self._min = overhead.minimum
        self._tags = overhead.header + overhead.footer
        self._alignment = overhead.alignment
        self._ends = 2 * description.word if description.mechanism else 0
        self._growth = description.growth
        self._preallocate = description.preallocate
        self._returned: list[int] = []
        self._dirty = _Bins()
        self._clean = _Bins()
        self._last_remainder: int | None = None
        self._rover = bin_of(1 << 62)
        self._previous = 0

    def malloc(self, size: int) -> int:
        """Try steps 1 to 8 until one of them finds a block."""
        self.visited = 0
        own = bin_of(size)
        found = self._use_returned(size)
        if found is None:
            found = self._exact(size, own)
        if found is None:
            found = self._distribute_returned(size)
        if found is not None:
            self.blocks.mark(found, State.ALLOCATED)
            return found
        found = self._use_last_remainder(size)
        if found is None:
            found = self._use_clean(size, own)
        if found is None:
            found = self._consolidate_for(size)
        if found is None:
            found = self._extend(size)
        self._allocate_low_end(found, size)
        return found

    def free(self, address: int) -> None:
        """Put the block on the list of returned blocks."""
        self.blocks.mark(address, State.CACHED)
        self._returned.append(address)

    def reallocate(self, address: int, size: int) -> int:
        """Grow over free successors, or move; joined successors stay with the old block."""
        if self.reallocate_in_place(address, size):
            return address
        new = self.front.malloc(round_up(size + self._tags, self._alignment))
        self.front.free(address)
        return new

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Make the returned blocks dirty, join all free successors, free the remainder."""
        self._bin_last_remainder()
        while self._returned:
            self._make_dirty(self._returned.pop())
        after = self.blocks.after(address)
        while self.blocks.is_free(after):
            self._leave(after)
            self.blocks.mark(after, State.ALLOCATED)
            self.blocks.join(address)
            after = self.blocks.after(address)
        room = self.block_size(address) - size
        if room >= self._min:
            rest = self._split(address, size)
            self.blocks.mark(rest, State.FREE)
            self._clean.enter(rest, room)
        return room >= 0

    def listed(self) -> list[int]:
        """Return the dirty and the clean blocks and the last remainder."""
        remainder = [] if self._last_remainder is None else [self._last_remainder]
        return [*self._dirty, *self._clean, *remainder]

    def cached(self) -> Iterable[int]:
        """Return the returned blocks."""
        return self._returned

    def _fits_exactly(self, address: int, size: int) -> bool:
        """Return whether a block is large enough and its remainder is too small for a block."""
        return 0 <= self.block_size(address) - size < self._min

    def _use_returned(self, size: int) -> int | None:
        """Take step 1: the block returned last, if it fits exactly."""
        self.visited += bool(self._returned)
        if self._returned and self._fits_exactly(self._returned[-1], size):
            return self._returned.pop()
        return None

    def _exact(self, size: int, own: int) -> int | None:
        """Take step 2: an exact fit from the size's bin; else merge the bin's dirty blocks."""
        if size < _SMALL_BELOW:
            for bins, newest in ((self._dirty, True), (self._clean, False)):
                for found in bins.blocks(own, newest_first=newest):
                    self.visited += 1
                    bins.leave(found)
                    return found
            return None
        any_dirty = False
        for found in self._dirty.blocks(own, newest_first=True):
            any_dirty = True
            self.visited += 1
            if self._fits_exactly(found, size):
                self._dirty.leave(found)
                return found
        if any_dirty:
            self._clean_bin(own)
        return None

    def _distribute_returned(self, size: int) -> int | None:
        """Take step 3: an exact fit among the returned blocks; skipped blocks become dirty."""
        while self._returned:
            found = self._returned.pop()
            self.visited += 1
            if self._fits_exactly(found, size):
                return found
            self._make_dirty(found)
        return None

    def _use_last_remainder(self, size: int) -> int | None:
        """Take step 4: use the last remainder, if it is large enough."""
        found = self._last_remainder
        if found is None:
            return None
        self.visited += 1
        if self.block_size(found) < size:
            return None
        self._last_remainder = None
        return found

    def _use_clean(self, size: int, own: int) -> int | None:
        """Take steps 5 and 6: the oldest clean block that fits, in the size's bin or the next."""
        for found in self._clean.blocks(own, newest_first=False):
            self.visited += 1
            if self.block_size(found) >= size:
                self._clean.leave(found)
                return found
        higher = self._clean.next_bin(own)
        if higher is None:
            return None
        self.visited += 1
        found = next(self._clean.blocks(higher, newest_first=False))
        self._clean.leave(found)
        return found

    def _consolidate_for(self, size: int) -> int | None:
        """Take step 7: merge dirty blocks, bin by bin downwards, until one is large enough."""
        self._bin_last_remainder()
        for number in self._dirty.downwards(self._rover):
            for block in self._emptied(number):
                self.visited += 1
                if self.block_size(block) >= size:
                    self._rover = number
                    return block
                self._clean.enter(block, self.block_size(block))
        return None

    def _emptied(self, number: int) -> Iterator[int]:
        """Merge the dirty blocks of a bin one after the other, the oldest first; yield each."""
        while True:
            oldest = next(self._dirty.blocks(number, newest_first=False), None)
            if oldest is None:
                return
            self._dirty.leave(oldest)
            yield self._consolidate(oldest)

    def _extend(self, size: int) -> int:
        """Take step 8: raise the break by the whole request, and merge with a free block below."""
        tail = self.blocks.before(self.brk)
        new = self._grow(round_up(size + self._ends, self._growth))
        if self._ends and tail is None:
            self.blocks.mark(new, State.TABLE)
            new = self.blocks.cut(new, self._ends)
        self.blocks.mark(new, State.FREE)
        if not self.blocks.is_free(tail):
            return new
        self._leave(tail)
        self._coalesce(tail)
        return tail

    def _allocate_low_end(self, address: int, size: int) -> None:
        """Allocate the low end; cut more blocks of the same size if it was requested before."""
        room = self.block_size(address) - size
        if room >= self._min:
            rest = self._split(address, size)
            if self._previous == size:
                for _ in range(self._preallocate):
                    if room < size + self._min:
                        break
                    room -= size
                    more = rest
                    rest = self._split(more, size)
                    self.free(more)
            self._previous = size
            self._bin_last_remainder()
            self._last_remainder = rest
        self.blocks.mark(address, State.ALLOCATED)

    def _clean_bin(self, number: int) -> None:
        """Merge the dirty blocks of a bin, then all returned blocks."""
        self._bin_last_remainder()
        for block in self._emptied(number):
            self._clean.enter(block, self.block_size(block))
        while self._returned:
            block = self._returned.pop()
            self.blocks.mark(block, State.FREE)
            block = self._consolidate(block)
            self._clean.enter(block, self.block_size(block))

    def _consolidate(self, address: int) -> int:
        """Merge a free block with all free blocks before and behind it; return its address."""
        before = self.blocks.before(address)
        while self.blocks.is_free(before):
            self._leave(before)
            self._coalesce(before)
            address = before
            before = self.blocks.before(address)
        after = self.blocks.after(address)
        while self.blocks.is_free(after):
            self._leave(after)
            self._coalesce(address)
            after = self.blocks.after(address)
        return address

    def _make_dirty(self, address: int) -> None:
        self.blocks.mark(address, State.FREE)
        self._dirty.enter(address, self.block_size(address))

    def _bin_last_remainder(self) -> None:
        """Move the last remainder to the clean blocks, without merging it."""
        if self._last_remainder is not None:
            self._clean.enter(self._last_remainder, self.block_size(self._last_remainder))
            self._last_remainder = None

    def _leave(self, address: int) -> None:
        (self._dirty if address in self._dirty else self._clean).leave(address)


class _Bins:
    """Blocks in numbered bins, each in the order in which they entered."""

    def __init__(self) -> None:
        self._bin: dict[int, int] = {}
        self._blocks: dict[int, dict[int, None]] = {}
        self._numbers: list[int] = []

    def __iter__(self) -> Iterator[int]:
        """Iterate over all addresses."""
        return iter(self._bin)

    def __contains__(self, address: int) -> bool:
        """Return whether the block is in a bin."""
        return address in self._bin

    def enter(self, address: int, size: int) -> None:
        """Add a block to the bin of its size, as its newest."""
        number = bin_of(size)
        self._bin[address] = number
        if number not in self._blocks:
            self._blocks[number] = {}
            insort(self._numbers, number)
        self._blocks[number][address] = None

    def leave(self, address: int) -> None:
        """Remove a block from its bin."""
        number = self._bin.pop(address)
        del self._blocks[number][address]
        if not self._blocks[number]:
            del self._blocks[number]
            self._numbers.remove(number)

    def blocks(self, number: int, *, newest_first: bool) -> Iterator[int]:
        """Iterate over the blocks of a bin."""
        inside = self._blocks.get(number, {})
        return reversed(inside) if newest_first else iter(inside)

    def next_bin(self, number: int) -> int | None:
        """Return the first bin above `number` with a block."""
        place = bisect_right(self._numbers, number)
        return self._numbers[place] if place < len(self._numbers) else None

    def downwards(self, start: int) -> list[int]:
        """Return the nonempty bins in descending order, from `start` and around to above it."""
        below = bisect_right(self._numbers, start)
        return [*reversed(self._numbers[:below]), *reversed(self._numbers[below:])]


def bin_of(size: int) -> int:
    """Return the bin number of a size: one per size below 144 bytes, four per doubling above."""
    if size < _SMALL_BELOW:
        return size
    eighths, number = size >> 3, _SMALL_BELOW
    while eighths >= 32:
        eighths >>= 1
        number += 4
    return number + ((eighths - 16) >> 2)
