"""A heap of glibc's malloc that begins as a process's heap (policy/families/ptmalloc.md)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

from simalloc.errors import SimallocError
from simalloc.heap.reference.families.ptmalloc.arena import Arena, ArenaHeap
from simalloc.heap.reference.families.ptmalloc.tcache import ThreadCache
from simalloc.heap.reference.families.ptmalloc.threads import PtmallocThreads, Thread
from simalloc.heap.reference.space import State
from simalloc.heap.start import (
    BIN,
    CACHED,
    FAST_LIST,
    FREE,
    LIVE,
    MAPPED,
    TABLE,
    TOP,
    UNSORTED_LIST,
    WASTE,
    Start,
)
from simalloc.policy.families.ptmalloc import HEAP, Ptmalloc

_STATES: Final = {
    LIVE: State.TABLE,
    CACHED: State.CACHED,
    FREE: State.FREE,
    TOP: State.FREE,
    TABLE: State.TABLE,
    WASTE: State.WASTE,
}
"""States of blocks. A live block is a TABLE until an allocation of the trace gets it."""


class PtmallocStarted(PtmallocThreads):
    """Begins with the blocks and lists of a `Start`. Its live blocks wait in `_waiting`."""

    def __init__(self, description: Ptmalloc) -> None:
        super().__init__(description)
        self._waiting: deque[int] = deque()
        self._first_arenas = 0
        """Number of arenas with which the heap began."""

    def begin_with(self, start: Start, tunables: Mapping[str, int], threads: Sequence[int]) -> None:
        """Place all blocks; `threads` contains the trace's number of each thread of the heap."""
        self._has_begun = True
        self._set_tunables(tunables)
        arenas = [self._arenas.main]
        arenas += [Arena(number, self._description) for number in range(1, len(start.arena))]
        self._arenas.all = arenas
        self._first_arenas = len(arenas)
        bases = [self._begin_segment(arenas[row[0]], *row[1:]) for row in start.segment.tolist()]
        places = self._place_blocks(start, arenas, bases)
        for arena, (attached, segment, offset) in zip(arenas, start.arena.tolist(), strict=True):
            arena.attached = attached
            arena.last_remainder = bases[segment] + offset if segment >= 0 else None
        self._arenas.set_idle([arenas[number] for number in start.idle.tolist()])
        found = [Thread(arenas[arena] if arena >= 0 else None,
                        self._empty_cache() if cache else None,
                        places[table] if table >= 0 else None)
                 for arena, cache, table in start.thread.tolist()]  # fmt: skip
        self._threads = dict(zip(threads, found, strict=True))
        self._enter_lists(start, arenas, found, places)
        for block, segment, first, end in start.resident.tolist():
            base = bases[segment] if block < 0 else self._mapped[places[block]]
            self.touch(base + first, end - first)

    def _set_tunables(self, tunables: Mapping[str, int]) -> None:
        """Set the tunables that the run begins with."""
        for name, value in tunables.items():
            if name == "arena_max":
                self._arenas.limit(value)
            else:
                setattr(self, f"_{name}", value)
        self._adjusts = bool(tunables["adjusts"])

    def _begin_segment(self, arena: Arena, size: int, ever: int) -> int:
        """Map a segment of an arena as one block; return its base."""
        arena.system += size
        if not arena.number:
            return self.blocks.extend(size)
        base = self.blocks.reserve_segment(HEAP, HEAP)
        if size < HEAP:
            self.blocks.cut(base, size)
        self.blocks.mark(base, State.ALLOCATED)
        arena.heaps.append(ArenaHeap(base, size, ever))
        self._owner[base] = arena
        return base

    def _place_blocks(self, start: Start, arenas: list[Arena], bases: list[int]) -> list[int]:
        """Cut the segments into blocks, and map the other blocks; return all addresses."""
        places = []
        ends = [base + size for base, size in zip(bases, start.segment[:, 1].tolist(), strict=True)]
        owner = start.segment[:, 0].tolist()
        for segment, offset, size, kind in start.block.tolist():
            if segment == MAPPED:
                address = self._begin_mapped(offset, size)
            else:
                address = bases[segment] + offset
                if address + size < ends[segment]:
                    self.blocks.cut(address, size)
                if kind == TOP:
                    arenas[owner[segment]].top = address
            self.blocks.mark(address, _STATES[kind])
            if kind == LIVE:
                self._waiting.append(address)
            places.append(address)
        return places

    def _begin_mapped(self, front: int, size: int) -> int:
        """Map a block directly, with `front` bytes in front of it; return its address."""
        segment = self.blocks.map_segment(front + size)
        address = self.blocks.cut(segment, front) if front else segment
        if front:
            self.blocks.mark(segment, State.WASTE)
        self._mapped[address] = segment
        return address

    def _enter_lists(
        self, start: Start, arenas: list[Arena], threads: list[Thread], places: list[int]
    ) -> None:
        """Put the free and cached blocks into their lists."""
        for kind, owner, block in start.entry.tolist():
            address = places[block]
            size = self._cached_size(address)
            if kind == FAST_LIST:
                arenas[owner].fast[size].append(address)
            elif kind == UNSORTED_LIST:
                arenas[owner].unsorted[address] = None
            elif kind == BIN:
                arenas[owner].enter(address, size)
            else:
                cache = threads[owner].cache
                assert cache is not None, "a thread with cached blocks has a cache"
                cache.put(address, size)

    def _empty_cache(self) -> ThreadCache:
        return ThreadCache(self._tcache_count, self._small_cached, self._tcache_max)

    def _give_waiting(self, size: int) -> int:
        """Return the next live block of the heap for an object of the trace."""
        self.visited = -1
        address = self._waiting.popleft()
        if self.block_size(address) < size:
            raise SimallocError(NOT_THE_LIVE_BLOCKS)
        self.request = self.request._replace(unwritten=self.request.size, is_zeroed=False)
        return self._allocate(address)

    def _check_begun(self) -> None:
        """Raise `SimallocError` if live blocks are still waiting."""
        if self._waiting:
            raise SimallocError(NOT_THE_LIVE_BLOCKS)


NOT_THE_LIVE_BLOCKS: Final = (
    "the trace does not begin with one allocation for each live block of the initial heap, in "
    "address order"
)
