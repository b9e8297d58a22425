"""Threads under glibc's malloc: their arenas and caches (simalloc/policy/families/ptmalloc.md)."""

from __future__ import annotations

from dataclasses import dataclass

from simalloc.heap.reference.families.ptmalloc.arena import Arena
from simalloc.heap.reference.families.ptmalloc.search import PtmallocSearch
from simalloc.heap.reference.families.ptmalloc.tcache import ThreadCache
from simalloc.heap.reference.heap import Request
from simalloc.heap.reference.parts.overhead import gross_size
from simalloc.heap.reference.space import Refused, State, needed_by_allocator
from simalloc.policy.families.ptmalloc import Ptmalloc

_THREAD_BLOCK = 272
"""Bytes that a program's main thread requests when it creates another thread."""


@dataclass
class Thread:
    """A thread: its arena and its cache, or None before it has them; and the cache's table."""

    arena: Arena | None = None
    cache: ThreadCache | None = None
    table: int | None = None


class PtmallocThreads(PtmallocSearch):
    """The threads that have called malloc. `_thread` is the calling thread.

    Since 2.43 a thread's cache is made late: at the thread's first free, or during a search.
    """

    def __init__(self, description: Ptmalloc) -> None:
        super().__init__(description)
        values = description.resolved
        self._overhead = description.applied_overhead
        self._tcache_count = values["tcache_count"]
        self._tcache_max = values["tcache_max"]
        self._makes_cache_late = description.since(43)
        lists = 76 if self._makes_cache_late else 64
        self._table = lists * (description.word + 2) if description.mechanism else 0
        # Size of a table that is allocated within a search.
        self._table_within = self._table
        if description.mechanism and description.version.number == (2, 43):
            self._table_within = gross_size(self._table, self._overhead)
        self._threads: dict[int, Thread] = {}
        self._thread = Thread()
        self._is_making_cache = False
        self._has_begun = False

    def _enter(self) -> None:
        """Set the calling thread."""
        if not self._has_begun:
            self._begin()
        self._thread = self._threads.setdefault(self.request.thread, Thread())
        self._cache = self._thread.cache

    def _begin(self) -> None:
        """Attach the first thread to the main arena; it allocates a block per other thread."""
        blocks, request = self.other_threads, self.request
        main = self._arenas.main
        self._has_begun = True
        self._thread = Thread(main)
        self._threads[0 if blocks else request.thread] = self._thread
        main.attached = 1
        self.request = Request()
        for _ in range(blocks):
            if not self._makes_cache_late:
                self._make_cache()
            size = gross_size(_THREAD_BLOCK, self._overhead)
            with needed_by_allocator():
                block = self._find(main, size)
            self.blocks.mark(block, State.TABLE)
            self.touch(block + 2 * self._word, size - self._word)
        self.request = request

    def _arena(self, asked: int) -> Arena:
        """Return the thread's arena, attached at its first request, of `asked` bytes."""
        if self._thread.arena is None:
            self._thread.arena = self._arenas.attach(lambda arena: self._make_arena(arena, asked))
        return self._thread.arena

    def _find(self, arena: Arena, size: int) -> int:
        """Search an arena, and then the main arena."""
        found = self._search(arena, size)
        if found is None and arena is not self._arenas.main:
            found = self._search(self._arenas.main, size)
        if found is None:
            raise Refused
        return found

    def _make_cache(self) -> None:
        """Make the thread's cache, if it has none, by a separate request."""
        never = self._makes_cache_late and self._tcache_count == 0
        if self._thread.cache is None and not never:
            self._make_cache_in(self._arena(self._table), self._table)

    def _make_cache_within(self, arena: Arena) -> None:
        """Make the thread's cache during a search in an arena of any thread."""
        if self._thread.cache is None and not self._is_making_cache and self._tcache_count > 0:
            self._make_cache_in(arena, self._table_within)

    def _make_cache_in(self, arena: Arena, asked: int) -> None:
        """Make the thread's cache, and allocate its table if the policy has tables."""
        if asked:
            self._is_making_cache, visited = True, self.visited
            with needed_by_allocator():
                table = self._find(arena, gross_size(asked, self._overhead))
            self._is_making_cache, self.visited = False, visited
            self.blocks.mark(table, State.TABLE)
            self.touch(table + 2 * self._word, self._table)
            self._thread.table = table
        self._cache = ThreadCache(self._tcache_count, self._small_cached, self._tcache_max)
        self._thread.cache = self._cache
