"""jemalloc (simalloc/policy/families/jemalloc.md): the program's calls, threads and arenas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from simalloc.heap.reference.families.jemalloc.arena import Arena, Large
from simalloc.heap.reference.families.jemalloc.arena_choice import Arenas
from simalloc.heap.reference.families.jemalloc.bins import Slab
from simalloc.heap.reference.families.jemalloc.decay import Random, Ticker
from simalloc.heap.reference.families.jemalloc.size_classes import (
    PAGE,
    SMALL_CLASSES,
    SMALLEST_LARGE,
    class_number,
    power_above,
    small_class,
)
from simalloc.heap.reference.families.jemalloc.space import JemallocSpace
from simalloc.heap.reference.families.jemalloc.tcache import Stack, ThreadCache
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.space import Refused, State, needed_by_allocator
from simalloc.policy.families.jemalloc import Jemalloc

_FREES_BEFORE_CACHE: Final = 128
"""Number of frees after which a thread of 5.3.1 without allocations gets a cache."""
_POOL_OF_EXCEPTIONS: Final = 72704
"""Bytes that the C++ library allocates when it is loaded."""

_POOL_WRITTEN: Final = 16
"""Bytes of the C++ library's allocation that are written when the library is loaded."""

_BYTES_OF_THREAD: Final = 288
"""Bytes that the C library allocates when a thread is started."""
_THREAD_SEED_STEP: Final = 1 << 23
"""Distance between the seeds of consecutive threads."""


class Thread:
    """jemalloc's state of a thread."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.ticker = Ticker()
        self.arena: Arena | None = None
        self.cache: ThreadCache | None = None
        self.table: int | None = None
        self.allocated = 0
        self.freed = 0
        self.early_frees = 0

    @property
    def own_arena(self) -> Arena:
        """Arena to which the thread is attached from its first allocation on."""
        assert self.arena is not None, "the thread has begun"
        return self.arena


class JemallocHeap(Heap):
    """Threads with caches over arenas."""

    def __init__(self, description: Jemalloc) -> None:
        super().__init__()
        self._description = description
        self._space = JemallocSpace(self, description)
        self._arenas = Arenas(self._space, self.blocks)
        self._threads: dict[int, Thread] = {}
        self._internal = 0
        self._events = 0

    def malloc(self, size: int) -> int:
        """Return an object from the thread's cache or from an arena."""
        self.visited = 0
        thread = self._begin(allocates=True)
        alignment = power_above(self.request.alignment)
        sizes = self._space.sizes
        usable = sizes.aligned(size, alignment) if alignment > 1 else sizes.usable(size)
        if alignment > 1 and usable >= SMALLEST_LARGE:
            address = self._allocate_past(thread, usable, usable, alignment)
        else:
            address = self._allocate(thread, size, usable)
        self._count(thread, allocated=usable)
        return address

    def free(self, address: int) -> None:
        """Put an object in the thread's cache, or free it in its arena."""
        thread = self._begin(allocates=False)
        usable = self._arenas.usable(address)
        self._free(thread, address)
        self._count(thread, freed=usable)

    def reallocate(self, address: int, size: int) -> int:
        """Resize a large object in place if possible; else move it if the size class changes."""
        thread = self._begin(allocates=True)
        have, usable = self._arenas.usable(address), self._space.sizes.usable(size)
        if not self._resize_in_place(thread, address, usable):
            new = self._move(thread, address, usable)
        else:
            new = address
        self._count(thread, allocated=usable, freed=have)
        return new

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Resize in place if possible; return whether it succeeded."""
        thread = self._begin(allocates=True)
        return self._resize_in_place(thread, address, self._space.sizes.usable(size))

    def end_thread(self) -> None:
        """Detach the thread, flush its cache, and purge its arena if no thread is left there."""
        thread = self._begin(allocates=False)
        del self._threads[self.request.thread]
        arena = thread.arena
        if arena is None:
            return
        arena.threads -= 1
        if thread.cache is None:
            return
        for stack in thread.cache.stacks:
            self._flush(thread, stack, 0)
        if thread.table is not None:
            self._internal -= self._arenas.usable(thread.table)
            self._free_past(thread, thread.table)
        background = self._description.background_thread
        if arena.threads == 0 and not background:
            arena.pages.purge_all()
        elif not background:
            arena.pages.look()

    def rounded(self, size: int) -> int:
        """Return the usable size of the object for `size` bytes."""
        return self._space.sizes.usable(size)

    def listed(self) -> list[int]:
        """Return the dirty and muzzy extents, and the free regions of slabs."""
        caches = [
            cache for arena in self._arenas for cache in (arena.pages.dirty, arena.pages.muzzy)
        ]
        extents = [extent.address for cache in caches for extent in cache]
        slabs = set(self._arenas.slabs.values())
        return extents + [
            slab.extent.address + place * slab.width for slab in slabs for place in slab.free
        ]

    def cached(self) -> Iterable[int]:
        """Return the objects in the caches of threads."""
        return [object_ for stack in self._stacks() for object_ in stack.objects]

    def figures(self) -> dict[str, int]:
        """Return jemalloc's own statistics: bytes, and pages where the name begins with p."""
        arenas = self._arenas
        active = sum(arena.active for arena in arenas)
        dirty = sum(arena.pages.dirty.pages for arena in arenas)
        muzzy = sum(arena.pages.muzzy.pages for arena in arenas)
        retained = sum(arena.pages.retained.pages for arena in arenas)
        base = sum(arena.pages.metadata.allocated for arena in arenas)
        return {
            "allocated": sum(arena.allocated for arena in arenas),
            "active": active,
            "metadata": base + self._internal,
            "resident": active
            + dirty * PAGE
            + sum(arena.pages.metadata.resident for arena in arenas),
            "mapped": active
            + (dirty + muzzy) * PAGE
            + sum(arena.pages.metadata.mapped for arena in arenas),
            "retained": retained * PAGE,
            "pdirty": dirty,
            "pmuzzy": muzzy,
            "base": base,
            "internal": self._internal,
            "tcache_bytes": sum(self._arenas.usable(address) for address in self.cached()),
        }

    def locate(self, address: int) -> tuple[int, int, int]:
        """Return arena, mapping and offset of an object."""
        extent = self._arenas.extent(address)
        mapping = extent.mapping
        return extent.pages.arena, mapping.number, address - mapping.address

    def _begin(self, *, allocates: bool) -> Thread:
        """Advance the clock; return the thread, which starts with its first allocation."""
        tick = self._description.tick
        if self._events == 0 and self._description.mechanism:
            self._start_program()
        self._events += 1
        self._space.now = self._events * tick if tick else self.request.time
        if self._description.background_thread:
            for arena in self._arenas:
                arena.pages.look()
        return self._thread(self.request.thread, allocates=allocates)

    def _start_program(self) -> None:
        """Let thread 0 allocate the libraries' objects: C++'s pool, and one per other thread."""
        started = self._description.started_threads
        others = self.other_threads if started < 0 else started
        if self._description.cxx_pool:
            self._keep(_POOL_OF_EXCEPTIONS, _POOL_WRITTEN)
        for _ in range(others):
            self._keep(_BYTES_OF_THREAD, self._space.sizes.usable(_BYTES_OF_THREAD))

    def _keep(self, size: int, written: int) -> None:
        """Allocate an object of thread 0 that is never freed, and write its first bytes."""
        thread = self._thread(0, allocates=True)
        usable = self._space.sizes.usable(size)
        with needed_by_allocator():
            address = self._allocate(thread, size, usable)
        self.blocks.mark(address, State.TABLE)
        self._space.touch(address, written)
        self._count(thread, allocated=usable)

    def _thread(self, number: int, *, allocates: bool) -> Thread:
        thread = self._threads.get(number)
        if thread is None:
            seed = self._description.seeds()[0] - number * _THREAD_SEED_STEP
            thread = self._threads[number] = Thread(seed % (1 << 64))
        if thread.arena is None:
            thread.early_frees += not allocates
            waits = not self._description.is_5_3_1 or thread.early_frees < _FREES_BEFORE_CACHE
            if allocates or not waits:
                self._start(thread)
        return thread

    def _start(self, thread: Thread) -> None:
        """Make a thread's cache, whose table is in arena 0, and attach the thread to an arena."""
        description = self._description
        if description.tcache:
            table = 0
            if description.mechanism:
                used = ThreadCache.table_size(description)
                size = self._space.sizes.aligned(used, PAGE)
                with needed_by_allocator():
                    table = self._allocate_from(thread, self._arenas[0], size, PAGE)
                self._internal += size
                self.blocks.mark(table, State.TABLE)
                self.touch(table, 8)
                self.touch(table + used - 8, 8)
                thread.table = table
            thread.cache = ThreadCache(
                description,
                table,
                flush=lambda stack, kept: self._flush(thread, stack, kept),
                span_of=lambda number: self._slab_span(thread, number),
                place_of=self._place,
            )
        thread.arena = self._arenas.for_thread()
        thread.arena.threads += 1
        thread.freed = 0

    def _allocate(self, thread: Thread, size: int, usable: int) -> int:
        """Return an object: from the cache, filled if the class is small, or from an arena."""
        number = class_number(usable)
        stacks = [] if thread.cache is None else thread.cache.stacks
        if number >= len(stacks):
            return self._allocate_past(thread, size, usable, 1)
        stack = stacks[number]
        if not stack.objects and not (stack.is_small and stack.capacity):
            return self._allocate_from(thread, thread.own_arena, usable, 1)
        if not stack.objects:
            self._fill(thread, stack)
        address = stack.pop()
        self.blocks.mark(address, State.ALLOCATED)
        if self.request.is_zeroed:
            self.touch(address, usable)
        return address

    def _allocate_past(self, thread: Thread, size: int, usable: int, alignment: int) -> int:
        """Return an object from an arena; `size` decides whether it is the oversize arena."""
        arena = self._arenas.for_size(size, thread.own_arena)
        return self._allocate_from(thread, arena, usable, alignment)

    def _allocate_from(self, thread: Thread, arena: Arena, usable: int, alignment: int) -> int:
        if usable <= SMALL_CLASSES[-1]:
            address = arena.allocate_small(small_class(usable))
            if self.request.is_zeroed:
                self.touch(address, usable)
        else:
            large = arena.allocate_large(usable, alignment, thread.random)
            address = large.address
            if self.request.is_zeroed:
                self._clear(large)
        self._tick(thread, arena, 1)
        return address

    def _clear(self, large: Large) -> None:
        """Zero an extent that was in use before: write it, or return its pages to the system."""
        extent = large.extent
        if extent.is_zero:
            return
        description = self._description
        if description.is_5_3_1 and extent.size < description.calloc_madvise_threshold:
            self.touch(extent.address, extent.size)
        else:
            self.discard(extent.address, extent.size)

    def _fill(self, thread: Thread, stack: Stack) -> None:
        """Take regions for an empty stack; the first region taken is on top."""
        arena = thread.own_arena
        bin_ = arena.bins[stack.number]
        least, most = stack.fill_counts(in_bursts=self._description.collects_by_clock)
        taken: list[int] = []
        while len(taken) < least:
            try:
                ready = len(bin_.find().free)
            except Refused:
                if not taken:
                    raise
                break
            if len(taken) + ready > most:
                ready = least - len(taken)
            taken += [arena.allocate_small(stack.number) for _ in range(ready)]
        for address in taken:
            self.blocks.mark(address, State.CACHED)
        stack.objects = taken[::-1]
        stack.low = 0
        stack.refilled = True
        self._write_stack(stack, len(taken))
        self._tick(thread, arena, 1)

    def _free(self, thread: Thread, address: int) -> None:
        number = class_number(self._arenas.usable(address))
        stacks = [] if thread.cache is None else thread.cache.stacks
        if number >= len(stacks) or not stacks[number].capacity:
            self._free_past(thread, address)
            return
        stack = stacks[number]
        if len(stack.objects) == stack.capacity:
            self._flush(thread, stack, stack.capacity // 2)
        self.blocks.mark(address, State.CACHED)
        stack.objects.append(address)
        self._write_stack(stack, 1)

    def _free_past(self, thread: Thread, address: int) -> None:
        """Free an object in its arena."""
        arena = self._arenas.of(address)
        if address in self._arenas.large:
            arena.free_large(self._arenas.large[address])
        else:
            slab = arena.put_back(address)
            if slab is not None:
                arena.free_slab(slab)
        self._tick(thread, arena, 1)

    def _flush(self, thread: Thread, stack: Stack, kept: int) -> None:
        """Free the oldest objects of a stack, arena by arena; then free the empty slabs."""
        left = stack.take_oldest(kept)
        stack.burst = 0
        empty: list[tuple[Arena, Slab]] = []
        while left:
            arena = self._arenas.of(left[0])
            own = [address for address in left if self._arenas.of(address) is arena]
            left = [address for address in left if self._arenas.of(address) is not arena]
            for address in own:
                if address in self._arenas.large:
                    arena.free_large(self._arenas.large[address])
                else:
                    slab = arena.put_back(address)
                    if slab is not None:
                        empty.append((arena, slab))
            self._tick(thread, arena, len(own))
        for arena, slab in empty:
            arena.free_slab(slab)

    def _resize_in_place(self, thread: Thread, address: int, usable: int) -> bool:
        """Keep an object in place if its usable size is right, or if it can be resized."""
        arena = self._arenas.of(address)
        have = self._arenas.usable(address)
        if usable != have:
            large = self._arenas.large.get(address)
            if large is None or usable < SMALLEST_LARGE or not arena.resize(large, usable):
                return False
        self._tick(thread, arena, 1)
        return True

    def _move(self, thread: Thread, address: int, usable: int) -> int:
        """Move an object; a move from large to large bypasses the cache."""
        self.visited = 0
        have = self._arenas.usable(address)
        if min(have, usable) >= SMALLEST_LARGE:
            new = self._allocate_past(thread, usable, usable, 1)
        else:
            new = self._allocate(thread, usable, usable)
        self.touch(address, min(have, usable))
        self.touch(new, min(have, usable))
        self._free(thread, address)
        return new

    def _count(self, thread: Thread, allocated: int = 0, freed: int = 0) -> None:
        """Count bytes; collect the cache after every `tcache_gc_incr_bytes`."""
        limit = self._description.tcache_gc_incr_bytes
        thread.allocated += allocated
        if thread.allocated >= limit:
            thread.allocated = 0
            self._collect(thread)
        thread.freed += freed
        if thread.freed >= limit:
            thread.freed = 0
            self._collect(thread)

    def _collect(self, thread: Thread) -> None:
        if thread.cache is not None:
            thread.cache.collect(self._space.now)

    def _tick(self, thread: Thread, arena: Arena, ticks: int) -> None:
        """Count operations that bypass the cache; at times, purge the pages that are due."""
        background = self._description.background_thread
        if thread.ticker.count(ticks, thread.random) and not background:
            arena.pages.look()

    def _write_stack(self, stack: Stack, count: int) -> None:
        """Write the pointers of a stack's newest objects to its table."""
        if self._description.mechanism:
            self.touch(stack.end - 8 * len(stack.objects), 8 * count)

    def _stacks(self) -> list[Stack]:
        caches = [thread.cache for thread in self._threads.values() if thread.cache is not None]
        return [stack for cache in caches for stack in cache.stacks]

    def _slab_span(self, thread: Thread, number: int) -> range | None:
        """Return the addresses of a thread's current slab, as Linux would have placed it."""
        slab = thread.own_arena.bins[number].next_slab
        if slab is None:
            return None
        start = self._place(slab.extent.address)
        return range(start, start + slab.extent.size)

    def _place(self, address: int) -> int:
        mapping = self._arenas.extent(address).mapping
        return address - mapping.address + mapping.place
