"""glibc's malloc, 2.36, with one thread (simalloc/policy/families/ptmalloc.md)."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import TYPE_CHECKING

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.nodes import Nodes
from simalloc.heap.reference.parts.overhead import gross_size, round_up
from simalloc.heap.reference.space import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simalloc.policy.families.ptmalloc import Ptmalloc

_CONSOLIDATE_FROM = 65536
"""Freeing a block that has become so large consolidates the fast blocks."""

_MOST_SORTED = 10000
"""One search sorts at most so many blocks into their bins."""

_LARGEST_THRESHOLD = 32 << 20
"""The size from which requests are mapped does not rise above this."""


class PtmallocHeap(Heap):
    """A thread cache and fast lists of blocks that do not merge, over bins and a top.

    What is in the thread cache or a fast list is cached.
    """

    def __init__(self, description: Ptmalloc) -> None:
        super().__init__()
        overhead = description.applied_overhead
        word = description.word
        self._word = word if description.mechanism else 0
        self._least = overhead.minimum
        self._keep = overhead.minimum if description.mechanism else 0
        # The bytes of the thread cache itself, until the first malloc has made it.
        self._cache_table = gross_size(64 * (word + 2), overhead) if description.mechanism else 0
        self._small_below = 1024 if word == 8 else 1008
        self._large_limits = _LARGE_LIMITS[word]
        self._growth = description.growth
        self._top_pad = description.top_pad
        self._map = description.map_from
        self._trim = description.trim
        self._fast_up_to = description.fast * word
        self._cached_up_to = 4 * word + 16 * (description.cache_lists - 1)
        self._cache_length = description.cache_length
        self._thread_cache: defaultdict[int, list[int]] = defaultdict(list)
        self._fast: defaultdict[int, list[int]] = defaultdict(list)
        self._unsorted: OrderedDict[int, None] = OrderedDict()
        self._small: defaultdict[int, OrderedDict[int, None]] = defaultdict(OrderedDict)
        self._large = Nodes()
        self._last_remainder: int | None = None
        self._top: int | None = None
        self._mapped: set[int] = set()

    def malloc(self, size: int) -> int:
        """Return the block of this size cached last, or look further."""
        self.visited = 0
        if self._cache_table:
            table = self._search(self._cache_table)
            self.blocks.mark(table, State.TABLE)
            self._cache_table = 0
            self.visited = 0
        if self._thread_cache[size]:
            self.visited += 1
            return self._allocate(self._thread_cache[size].pop())
        return self._search(size)

    def free(self, address: int) -> None:
        """Let the block wait in the thread cache or a fast list, or merge it."""
        if address in self._mapped:
            self._unmap(address)
            return
        size = self.block_size(address)
        if self._may_cache(size):
            self.blocks.mark(address, State.CACHED)
            self._thread_cache[size].append(address)
        elif size <= self._fast_up_to:
            self.blocks.mark(address, State.CACHED)
            self._fast[size].append(address)
        else:
            merged = self._merge(address)
            if self.block_size(merged) >= _CONSOLIDATE_FROM:
                self._consolidate()
                self._lower_top()

    def reallocate(self, address: int, size: int) -> int:
        """Stay if the block and the free one behind it are large enough; else move."""
        if address in self._mapped:
            return self._remap(address, size)
        if self.reallocate_in_place(address, size):
            return address
        self.visited = 0
        new = self._search(size)
        if new == self.blocks.after(address):
            self.blocks.join(address)
            self._cut(address, size)
            return address
        self.front.free(address)
        return new

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Grow into the top or a free block behind; free what is over."""
        after = self.blocks.after(address)
        if self.block_size(address) < size:
            if after is None or not self.blocks.is_free(after):
                return False
            spare = self._keep if after == self._top else 0
            if self.block_size(address) + self.block_size(after) < size + spare:
                return False
            if after == self._top:
                missing = size - self.block_size(address)
                self._top = None
                if self.block_size(after) > missing:
                    self._top = self._split(after, missing)
            else:
                self._leave(after)
            self.blocks.mark(after, State.ALLOCATED)
            self.blocks.join(address)
        self._cut(address, size)
        return True

    def listed(self) -> list[int]:
        """Return the unsorted and the binned blocks and the top."""
        small = [address for blocks in self._small.values() for address in blocks]
        top = [] if self._top is None else [self._top]
        return [*self._unsorted, *small, *self._large, *top]

    def cached(self) -> Iterable[int]:
        """Return the blocks in the thread cache and the fast lists."""
        lists = (*self._thread_cache.values(), *self._fast.values())
        return [address for blocks in lists for address in blocks]

    def _search(self, size: int) -> int:
        """Take steps 2 to 9 until one has found a block."""
        found = self._use_fast(size)
        if found is None:
            found = self._use_small(size)
        if found is None and size >= self._small_below:
            self._consolidate()
        while found is None:
            found = self._sort(size)
            if found is None:
                found = self._best_fit(size)
            if found is None:
                found = self._use_top(size)
            if found is None and not self._consolidate():
                return self._ask_system(size)
        return found

    def _use_fast(self, size: int) -> int | None:
        """Take step 2: the newest fast block of this size; others fill the thread cache."""
        if size > self._fast_up_to or not self._fast[size]:
            return None
        self.visited += 1
        found = self._fast[size].pop()
        while self._fast[size] and self._may_cache(size):
            self._thread_cache[size].append(self._fast[size].pop())
        return self._allocate(found)

    def _use_small(self, size: int) -> int | None:
        """Take step 3: the oldest block of the small bin; others fill the thread cache."""
        if size >= self._small_below or not self._small[size]:
            return None
        self.visited += 1
        found, _ = self._small[size].popitem(last=False)
        while self._small[size] and self._may_cache(size):
            other, _ = self._small[size].popitem(last=False)
            self.blocks.mark(other, State.CACHED)
            self._thread_cache[size].append(other)
        return self._allocate(found)

    def _sort(self, size: int) -> int | None:
        """Take step 5: put the unsorted blocks into bins, the oldest first; keep exact fits."""
        kept = False
        for _ in range(_MOST_SORTED):
            if not self._unsorted:
                break
            block = next(iter(self._unsorted))
            self.visited += 1
            if self._is_sole_remainder(block, size):
                return self._cut_unsorted(block, size)
            del self._unsorted[block]
            have = self.block_size(block)
            if have != size:
                self._bin(block, have)
            elif self._may_cache(size):
                self.blocks.mark(block, State.CACHED)
                self._thread_cache[size].append(block)
                kept = True
            else:
                return self._allocate(block)
        return self._allocate(self._thread_cache[size].pop()) if kept else None

    def _is_sole_remainder(self, block: int, size: int) -> bool:
        """Say whether the only unsorted block is the last remainder, with more than enough."""
        return (
            size < self._small_below
            and len(self._unsorted) == 1
            and block == self._last_remainder
            and self.block_size(block) > size + self._keep
        )

    def _cut_unsorted(self, block: int, size: int) -> int:
        """Cut the last remainder's low end off; what is left is the last remainder."""
        del self._unsorted[block]
        self._last_remainder = self._split(block, size)
        self._unsorted[self._last_remainder] = None
        return self._allocate(block)

    def _best_fit(self, size: int) -> int | None:
        """Take step 6: the smallest binned block that fits; its rest is unsorted."""
        found = self._smallest_binned(size)
        if found is None:
            return None
        self.visited += 1
        self._leave(found)
        if self.block_size(found) - size >= self._least:
            rest = self._split(found, size)
            self._unsorted[rest] = None
            if size < self._small_below:
                self._last_remainder = rest
        return self._allocate(found)

    def _smallest_binned(self, size: int) -> int | None:
        """Return which of the smallest binned blocks of at least `size` bytes is taken."""
        small = [have for have, blocks in self._small.items() if blocks and have >= size]
        if small:
            return next(iter(self._small[min(small)]))
        fit = self._large.fitting(size)
        if fit is None:
            return None
        equals = self._large.of_size(fit)
        if len(equals) == 1:
            return equals[0]
        own = size >= self._small_below and self._bin_end(size) == self._bin_end(fit)
        return equals[-1] if own else equals[1]

    def _use_top(self, size: int) -> int | None:
        """Take step 7: the low end of the top, of which enough must be left."""
        if self._top is None:
            return None
        self.visited += 1
        if self.block_size(self._top) < size + self._keep:
            return None
        return self._cut_top(size)

    def _cut_top(self, size: int) -> int:
        found = self._top
        assert found is not None, "the top is large enough"
        self._top = self._split(found, size) if self.block_size(found) > size else None
        return self._allocate(found)

    def _ask_system(self, size: int) -> int:
        """Take step 9: a segment for a large request; else let the top grow."""
        if self._map and size >= self._map:
            self.growths += 1
            address = self.blocks.map_segment(round_up(size + self._word, self._growth))
            self._mapped.add(address)
            return address
        have = 0 if self._top is None else self.block_size(self._top)
        new = self._grow(round_up(size + self._top_pad + self._keep - have, self._growth))
        self.blocks.mark(new, State.FREE)
        if self._top is None:
            self._top = new
        else:
            self._coalesce(self._top)
        return self._cut_top(size)

    def _consolidate(self) -> bool:
        """Merge all fast blocks, the smallest sizes first; say whether there were any."""
        fast, self._fast = self._fast, defaultdict(list)
        for size in sorted(fast):
            for address in reversed(fast[size]):
                self._merge(address)
        return any(fast.values())

    def _merge(self, address: int) -> int:
        """Free a block, merge it with its free neighbours; it becomes unsorted, or the top."""
        self.blocks.mark(address, State.FREE)
        at_top = self.blocks.after(address) in {None, self._top}
        for neighbour in self.blocks.free_neighbours(address):
            self._leave(neighbour)
            self._coalesce(min(address, neighbour))
            address = min(address, neighbour)
        if at_top:
            self._top = address
        else:
            self._unsorted[address] = None
        return address

    def _lower_top(self) -> None:
        """Give whole pages of a large top back, all but the pad."""
        if self._top is None or self.block_size(self._top) < self._trim:
            return
        spare = self.block_size(self._top) - self._keep - 1 - self._top_pad
        pages = spare // self._growth * self._growth
        if pages > 0:
            self._lower(pages)

    def _unmap(self, address: int) -> None:
        """Give a segment back; what is as large will not be mapped from now on."""
        size = self.block_size(address)
        self._mapped.remove(address)
        self.blocks.unmap_segment(address)
        if self._map < size <= _LARGEST_THRESHOLD:
            self._map = size
            self._trim = 2 * size

    def _remap(self, address: int, size: int) -> int:
        """Resize a segment: one of another number of pages is a new one."""
        whole = round_up(size + self._word, self._growth)
        if whole == self.block_size(address):
            return address
        self._mapped.remove(address)
        self.blocks.unmap_segment(address)
        new = self.blocks.map_segment(whole)
        self._mapped.add(new)
        return new

    def _cut(self, address: int, size: int) -> None:
        """Free what an allocated block has beyond `size`, if that makes a block."""
        if self.block_size(address) - size >= self._least:
            self.free(self._split(address, size))

    def _may_cache(self, size: int) -> bool:
        """Say whether the thread cache takes one more block of this size."""
        return size <= self._cached_up_to and len(self._thread_cache[size]) < self._cache_length

    def _bin(self, address: int, size: int) -> None:
        if size < self._small_below:
            self._small[size][address] = None
        else:
            self._large.enter(address, size)

    def _leave(self, address: int) -> None:
        size = self.block_size(address)
        if address == self._top:
            self._top = None
        elif address in self._unsorted:
            del self._unsorted[address]
        elif size < self._small_below:
            del self._small[size][address]
        else:
            self._large.leave(address, size)

    def _allocate(self, address: int) -> int:
        self.blocks.mark(address, State.ALLOCATED)
        return address

    def _bin_end(self, size: int) -> int:
        """Return the least size above those that share the large bin of `size`."""
        for limit, width in self._large_limits:
            if size < limit:
                return min(((size >> width) + 1) << width, limit)
        return 1 << 62


_LARGE_LIMITS = {
    8: ((3136, 6), (10752, 9), (45056, 12), (163840, 15), (786432, 18)),
    4: ((2944, 6), (10752, 9), (45056, 12), (163840, 15), (786432, 18)),
}
"""Of each word: below each size, the large bins are that power of two wide."""
