"""Search and merging in an arena of glibc's malloc (simalloc/policy/families/ptmalloc.md)."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict

from simalloc.heap.reference.families.ptmalloc.arena import Arena
from simalloc.heap.reference.families.ptmalloc.memory import PtmallocMemory
from simalloc.heap.reference.families.ptmalloc.tcache import ThreadCache
from simalloc.heap.reference.space import State
from simalloc.policy.families.ptmalloc import Ptmalloc

_TRIM_FROM = 65536
"""Minimum size of a merged block that makes a free trim the arena."""

_MAX_SORTED = 10000
"""Maximum number of blocks that one search sorts into their bins."""


class PtmallocSearch(PtmallocMemory):
    """The steps of an allocation in one arena, and the merging of freed blocks.

    `_cache` is the cache of the calling thread, or None.
    """

    def __init__(self, description: Ptmalloc) -> None:
        super().__init__(description)
        self._cache: ThreadCache | None = None
        self._fast_up_to = description.resolved["mxfast"]
        self._small_cached = 16 * 63 + 4 * description.word
        self._stashes_up_to = min(self._small_cached, description.resolved["tcache_max"])
        self._bins_freed = description.since(41)
        self._makes_cache_for_small = description.since(43)
        self._makes_cache_for_exact = description.version.number == (2, 43)
        self._keeps_exact = not description.since(44)

    @abstractmethod
    def _make_cache_within(self, arena: Arena) -> None:
        """Make the calling thread's cache during a search, if the thread has none."""

    def _search(self, arena: Arena, size: int) -> int | None:
        """Try steps 2 to 9 until one of them finds a block; return None if the arena cannot."""
        found = self._use_fast(arena, size)
        if found is None:
            found = self._use_small(arena, size)
        if found is None and not arena.is_small(size):
            self._consolidate(arena)
        while found is None:
            found = self._sort(arena, size)
            if found is None:
                found = self._best_fit(arena, size)
            if found is None:
                found = self._use_top(arena, size)
            if found is None and not self._consolidate(arena):
                return self._ask_system(arena, size)
        return found

    def _use_fast(self, arena: Arena, size: int) -> int | None:
        """Take step 2: the newest fast block of this size; others fill the thread's cache."""
        if size > self._fast_up_to or not arena.fast[size]:
            return None
        self.visited += 1
        found = arena.fast[size].pop()
        while arena.fast[size] and self._may_stash(size):
            self._put(arena.fast[size].pop())
        return self._allocate(found)

    def _use_small(self, arena: Arena, size: int) -> int | None:
        """Take step 3: the oldest block of the small bin; others fill the thread's cache."""
        found = arena.oldest_of(size) if arena.is_small(size) else None
        if found is None:
            return None
        self.visited += 1
        arena.leave(found, size)
        self._allocate(found)
        if self._makes_cache_for_small and size <= self._stashes_up_to:
            self._make_cache_within(arena)
        while (other := arena.oldest_of(size)) is not None and self._may_stash(size):
            arena.leave(other, size)
            self._put(other)
        return found

    def _sort(self, arena: Arena, size: int) -> int | None:
        """Take step 5: put the unsorted blocks into bins, the oldest first; cache exact fits."""
        kept = False
        for _ in range(_MAX_SORTED):
            if not arena.unsorted:
                break
            block = next(iter(arena.unsorted))
            self.visited += 1
            if self._is_sole_remainder(arena, block, size):
                return self._cut_remainder(arena, block, size)
            del arena.unsorted[block]
            have = self.block_size(block)
            if have != size:
                arena.enter(block, have)
                continue
            self._allocate(block)
            if self._makes_cache_for_exact:
                self._make_cache_within(arena)
            if not self._keeps_exact or not self._may_stash(size):
                return block
            self._put(block)
            kept = True
        return self._cached_block(size) if kept else None

    def _is_sole_remainder(self, arena: Arena, block: int, size: int) -> bool:
        """Return whether the only unsorted block is the last remainder, with bytes to spare."""
        return (
            arena.is_small(size)
            and len(arena.unsorted) == 1
            and block == arena.last_remainder
            and self.block_size(block) > size + self._keep
        )

    def _cut_remainder(self, arena: Arena, block: int, size: int) -> int:
        """Cut off the last remainder's low end; the rest is the new last remainder."""
        del arena.unsorted[block]
        arena.last_remainder = self._split(block, size)
        self._enter_unsorted(arena, arena.last_remainder)
        return self._allocate(block)

    def _best_fit(self, arena: Arena, size: int) -> int | None:
        """Take step 6: the smallest binned block that fits; its rest becomes unsorted."""
        found = arena.best_of(size)
        if found is None:
            return None
        self.visited += 1
        arena.leave(found, self.block_size(found))
        if self.block_size(found) - size >= self._min:
            rest = self._split(found, size)
            self._enter_unsorted(arena, rest)
            if arena.is_small(size):
                arena.last_remainder = rest
        return self._allocate(found)

    def _use_top(self, arena: Arena, size: int) -> int | None:
        """Take step 7: the low end of the top, if the minimum of the top remains."""
        if arena.top is None:
            return None
        self.visited += 1
        return self._cut_top(arena, size)

    def _cut_top(self, arena: Arena, size: int) -> int | None:
        """Return the low end of the top, or None if less than the minimum would remain."""
        found = arena.top
        if found is None or self.block_size(found) < size + self._keep:
            return None
        arena.top = self._split(found, size) if self.block_size(found) > size else None
        return self._allocate(found)

    def _ask_system(self, arena: Arena, size: int) -> int | None:
        """Take step 9: map a large request directly; else extend the top."""
        if self._may_map(size):
            return self._map(size)
        if arena is self._arenas.main:
            if not self._grow_main(size):
                return None
        elif not self._grow_heap(arena, size) and not self._add_heap(arena, size):
            return self._map(size) if self.blocks.has_room(self._mapping_of(size)) else None
        return self._cut_top(arena, size)

    def _merge_and_trim(self, address: int) -> None:
        """Merge a freed block; if the merged block is large, trim its arena."""
        arena = self._arena_of(address)
        merged = self._merge(arena, address, consolidating=False)
        if self.block_size(merged) >= _TRIM_FROM:
            self._consolidate(arena)
            self._trim(arena)

    def _merge(self, arena: Arena, address: int, *, consolidating: bool) -> int:
        """Free a block and merge it with its free neighbours; return the merged address."""
        self.blocks.mark(address, State.FREE)
        for neighbour in self.blocks.free_neighbours(address):
            arena.leave(neighbour, self.block_size(neighbour))
            self._coalesce(min(address, neighbour))
            address = min(address, neighbour)
        size = self.block_size(address)
        if address + size == (arena.heaps[-1].end if arena.heaps else self.brk):
            arena.top = address
            self._write_head(address)
        elif self._bins_freed and arena.is_small(size) and not consolidating:
            arena.enter(address, size)
            self._write_links(address)
        else:
            self._enter_unsorted(arena, address)
        return address

    def _consolidate(self, arena: Arena) -> bool:
        """Merge all fast blocks, the smallest sizes first; return whether any existed."""
        fast, arena.fast = arena.fast, defaultdict(list)
        for size in sorted(fast):
            for address in reversed(fast[size]):
                self._merge(arena, address, consolidating=True)
        return any(fast.values())

    def _enter_unsorted(self, arena: Arena, address: int) -> None:
        arena.unsorted[address] = None
        self._write_links(address)

    def _allocate(self, address: int) -> int:
        self.blocks.mark(address, State.ALLOCATED)
        return address

    def _may_stash(self, size: int) -> bool:
        """Return whether a search puts another block of this size into the thread's cache."""
        return size <= self._stashes_up_to and self._has_room(size)

    def _has_room(self, size: int) -> bool:
        """Return whether the thread's cache accepts another block of this size."""
        return self._cache is not None and self._cache.has_room(size)

    def _put(self, address: int) -> None:
        """Put a block into the thread's cache, which must have space for it."""
        assert self._cache is not None, "the thread has a cache"
        self.blocks.mark(address, State.CACHED)
        self.touch(address + 2 * self._word, 2 * self._word)
        self._cache.put(address, self._cached_size(address))

    def _take_cached(self, size: int, alignment: int = 1) -> int | None:
        """Take step 1: the newest block of this size in the thread's cache."""
        found = self._cached_block(size, alignment)
        self.visited += found is not None
        return found

    def _cached_block(self, size: int, alignment: int = 1) -> int | None:
        if self._cache is None:
            return None
        found = self._cache.take(size, alignment, 2 * self._word)
        return None if found is None else self._allocate(found)
