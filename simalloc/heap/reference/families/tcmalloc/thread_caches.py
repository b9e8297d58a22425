"""tcmalloc's thread caches, and the limit of their total size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simalloc.heap.reference.families.tcmalloc.central_free_list import CentralFreeList
from simalloc.heap.reference.space import State

if TYPE_CHECKING:
    from simalloc.heap.reference.families.tcmalloc.tcmalloc import TcmallocHeap

_LONGEST = 8192
"""Maximum length of a list."""

_MAX_OVERAGES = 3

_STEP = 64 * 1024
"""Step in bytes by which a cache's limit rises or falls."""

_MIN_LIMIT = 512 * 1024
"""Limit of a cache made when no space is left; only caches above it lose space to others."""

_MAX_TOTAL = 1 << 30


@dataclass
class CacheList:
    """A thread's free blocks of one class, the newest last."""

    blocks: list[int] = field(default_factory=list)
    lowater: int = 0
    """Minimum number of blocks since the latest scavenge."""
    max_length: int = 1
    """Maximum number of blocks; above it, some blocks move to the central free list."""
    length_overages: int = 0
    """Number of times that the list was too long since `max_length` was last lowered."""

    def take(self, count: int) -> list[int]:
        """Remove a chain of the `count` newest blocks, the newest first."""
        chain = self.blocks[: -count - 1 : -1]
        del self.blocks[len(self.blocks) - len(chain) :]
        self.lowater = min(self.lowater, len(self.blocks))
        return chain


class ThreadCache:
    """Blocks freed by one thread and neither reused nor moved to the central lists."""

    def __init__(self, heap: TcmallocHeap) -> None:
        self._heap = heap
        self._lists = [CacheList() for _ in heap.central_lists]
        self.size = 0
        self.max_size = 0

    def allocate(self, central: CentralFreeList) -> int:
        """Return the newest block of a class; an empty list is refilled from the central list."""
        mine = self._lists[central.number]
        if mine.blocks:
            self._heap.visited += 1
            self.size -= central.kind.size
            return mine.take(1)[0]
        chain = central.fetch(min(mine.max_length, central.kind.move))
        mine.blocks += reversed(chain[1:])
        self.size += (len(chain) - 1) * central.kind.size
        move = central.kind.move
        if mine.max_length < move:
            mine.max_length += 1
        else:
            mine.max_length = min(mine.max_length + move, _LONGEST) // move * move
        return chain[0]

    def free(self, block: int, central: CentralFreeList) -> None:
        """Keep a block; move blocks to the central lists if there are too many."""
        mine = self._lists[central.number]
        mine.blocks.append(block)
        self._heap.blocks.mark(block, State.CACHED)
        self.size += central.kind.size
        if len(mine.blocks) > mine.max_length:
            self._shorten(mine, central)
        if self.size > self.max_size:
            self._scavenge()

    def empty(self) -> None:
        """Move all blocks to the central lists."""
        for central, mine in zip(self._heap.central_lists, self._lists, strict=True):
            self._give_back(mine, central, len(mine.blocks))

    def blocks(self) -> list[int]:
        """Return all blocks."""
        return [block for mine in self._lists for block in mine.blocks]

    def _shorten(self, mine: CacheList, central: CentralFreeList) -> None:
        move = central.kind.move
        self._give_back(mine, central, move)
        if mine.max_length < move:
            mine.max_length += 1
        elif mine.max_length > move:
            mine.length_overages += 1
            if mine.length_overages > _MAX_OVERAGES:
                mine.max_length -= move
                mine.length_overages = 0

    def _scavenge(self) -> None:
        """Move half of the blocks that stayed unused to the central lists; raise the limit."""
        for central, mine in zip(self._heap.central_lists, self._lists, strict=True):
            if mine.lowater > 0:
                self._give_back(mine, central, max(1, mine.lowater // 2))
                move = central.kind.move
                if mine.max_length > move:
                    mine.max_length = max(mine.max_length - move, move)
            mine.lowater = len(mine.blocks)
        self._heap.caches.raise_max_size(self)

    def _give_back(self, mine: CacheList, central: CentralFreeList, count: int) -> None:
        """Move the newest blocks to the central list, in chains of at most `move` blocks."""
        count = min(count, len(mine.blocks))
        while count:
            chain = mine.take(min(count, central.kind.move))
            count -= len(chain)
            self.size -= len(chain) * central.kind.size
            central.insert(chain)


class Caches:
    """All thread caches, the newest first, and the bytes that no cache has claimed."""

    def __init__(self, heap: TcmallocHeap, total: int) -> None:
        self._heap = heap
        self._unclaimed_cache_space = min(max(total, _MIN_LIMIT), _MAX_TOTAL)
        self._ring: list[ThreadCache] = []
        self._victim: ThreadCache | None = None
        self._of_thread: dict[int, ThreadCache] = {}

    def __iter__(self) -> Iterator[ThreadCache]:
        """Iterate over the caches."""
        return iter(self._ring)

    def existing(self, thread: int) -> ThreadCache | None:
        """Return the cache of a thread, or None."""
        return self._of_thread.get(thread)

    def of(self, thread: int) -> ThreadCache:
        """Return the cache of a thread, made at its first malloc."""
        cache = self._of_thread.get(thread)
        if cache is None:
            cache = self._of_thread[thread] = self.add()
        return cache

    def add(self) -> ThreadCache:
        """Make a cache; it gets the minimum limit if the total is used up."""
        self._heap.count_cache(1)
        cache = ThreadCache(self._heap)
        self.raise_max_size(cache)
        if not cache.max_size:
            cache.max_size = _MIN_LIMIT
            self._unclaimed_cache_space -= _MIN_LIMIT
        self._ring.insert(0, cache)
        if len(self._ring) == 1:
            self._victim = cache
        return cache

    def end(self, thread: int) -> None:
        """Release the cache of an exiting thread."""
        cache = self._of_thread.pop(thread, None)
        if cache is None:
            return
        cache.empty()
        if self._victim is cache:
            self._victim = self._next(cache)
        self._ring.remove(cache)
        self._victim = self._victim or next(iter(self._ring), None)
        self._unclaimed_cache_space += cache.max_size
        self._heap.count_cache(-1)

    def raise_max_size(self, cache: ThreadCache) -> None:
        """Raise a limit from the unclaimed bytes, or else at the cost of another cache."""
        if self._unclaimed_cache_space > 0:
            self._unclaimed_cache_space -= _STEP
            cache.max_size += _STEP
            return
        for _ in range(10):
            victim = self._victim or self._ring[0]
            self._victim = self._next(victim)
            if victim is not cache and victim.max_size > _MIN_LIMIT:
                victim.max_size -= _STEP
                cache.max_size += _STEP
                return

    def _next(self, cache: ThreadCache) -> ThreadCache | None:
        """Return the next older cache, or None behind the oldest."""
        place = self._ring.index(cache) + 1
        return self._ring[place] if place < len(self._ring) else None
