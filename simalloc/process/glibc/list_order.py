"""The order of chunks in glibc's lists, and the arenas of threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simalloc.process.glibc.arena import Walk
from simalloc.process.glibc.capture import Capture
from simalloc.process.glibc.chunks import follow, ring
from simalloc.process.glibc.layouts import BINS, HEADER
from simalloc.process.glibc.main_arena import break_end
from simalloc.process.glibc.reading import ArenaHeap, Heap
from simalloc.process.glibc.tables import Lists
from simalloc.process.heap_state import BIN, CACHE, FAST_LIST, UNSORTED_LIST, HeapState
from simalloc.process.mappings import PAGE
from simalloc.process.region import ABSENT, down, up
from simalloc.process.target import Target, Thread, runs_of

_UNSORTED = 1
_LAST_SMALL = 63
_UNLIMITED = 1 << 40
"""Replacement of larger values: a trim threshold of 2^64 - 1 means never to trim."""


@dataclass(frozen=True, eq=False)
class Beside:
    """The parts of a `HeapState` that a capture lacks. They are read at the same moment."""

    threads: NDArray[np.int64]
    resident: NDArray[np.int64]


def read_beside(target: Target, found: Capture) -> Beside | None:
    """Read the parts of the program's malloc state that its captured heap lacks, or return None.

    The result is None if the process has no such heap, if an arena could not be walked, or if the
    main arena has memory outside the break.
    """
    if not found.heaps or any(arena.walk is None for arena in found.heaps[0].arenas):
        return None
    heap = found.heaps[0]
    arenas = _by_age(heap.arenas)
    if break_end(target, heap.parameters) is None or not arenas[0].state.contiguous:
        return None
    places = {arena.state.address: number for number, arena in enumerate(arenas)}
    ranges = np.concatenate([_segments(arenas)[:, 1:3], _mapped(found)[:, :2]])
    return Beside(_threads(found, heap, places), _resident(target, ranges))


def heap_state(found: Capture, beside: Beside | None) -> HeapState | None:
    """Return the state of the program's own malloc, or None without the parts in `beside`."""
    if beside is None:
        return None
    heap = found.heaps[0]
    arenas = _by_age(heap.arenas)
    walks = [arena.walk for arena in arenas if arena.walk is not None]
    rows = [row for number, walk in enumerate(walks) for row in _listed(number, walk, heap.masked)]
    return HeapState(
        has_fast_lists=walks[0].state.layout.fast is not None,
        parameters=_parameters(heap),
        segments=_segments(arenas),
        mapped=_mapped(found),
        lists=np.concatenate([_rows(rows, 3), _cached(found, heap)]),
        arenas=_rows([(one.state.attached, one.state.last_remainder) for one in arenas], 2),
        idle=np.array(_idle(arenas), np.int64),
        threads=beside.threads,
        resident=beside.resident,
    )


def _rows(rows: Sequence[tuple[int, ...]], width: int) -> NDArray[np.int64]:
    return np.array(rows, np.int64).reshape(-1, width)


def _by_age(arenas: Sequence[ArenaHeap]) -> list[ArenaHeap]:
    """Return the arenas in order of creation.

    Each new arena is inserted at the front of the ring.
    """
    main = next(arena for arena in arenas if arena.main)
    others = {arena.state.address: arena for arena in arenas if not arena.main}
    followed = {arena.state.next for arena in others.values()}
    (*newest,) = (address for address in others if address not in followed)
    at, order = (newest[0] if newest else 0), []
    while at in others:
        order.append(others.pop(at))
        at = order[-1].state.next
    return [main, *reversed([*others.values(), *order])]


def _segments(arenas: Sequence[ArenaHeap]) -> NDArray[np.int64]:
    """Return the memory ranges of all arenas."""
    walks = [arena.walk for arena in arenas if arena.walk is not None]
    return _rows([row for at, walk in enumerate(walks) for row in _segments_of(at, walk)], 4)


def _mapped(found: Capture) -> NDArray[np.int64]:
    """Return the separately mapped blocks."""
    blocks = found.mapped.blocks
    return _rows([(one.start, one.start + one.pages_size, one.address) for one in blocks], 3)


def _segments_of(number: int, walk: Walk) -> list[tuple[int, int, int, int]]:
    """Return the memory of an arena; the main arena's from its first piece to its last."""
    pieces = sorted(walk.pieces, key=lambda piece: piece.start)
    if number == 0:
        end = pieces[-1].end
        return [(0, down(pieces[0].start), end, end)]
    return [(number, piece.start, piece.end, piece.writable_end) for piece in reversed(walk.pieces)]


def _listed(number: int, walk: Walk, masked: bool) -> Iterator[tuple[int, int, int]]:  # noqa: FBT001
    """Yield the chunks of an arena's fast lists, unsorted list and bins."""
    for head in walk.state.fast_heads:
        if head:
            chunks = follow(walk.memory, head, HEADER, len(walk.address), masked=masked)
            yield from ((FAST_LIST, number, at) for at in reversed(chunks.tolist()))
    item = np.empty(len(walk.address) + 1, np.uint64)
    for bin_number in range(1, BINS + 1):
        count = ring(walk.memory, walk.state.layout.head(walk.state.address, bin_number), item)
        chunks = item[:count]
        kind = UNSORTED_LIST if bin_number == _UNSORTED else BIN
        if bin_number > _LAST_SMALL:
            chunks = _heads_first(chunks, walk.size[walk.place(chunks)])
        else:
            chunks = chunks[::-1]
        yield from ((kind, number, at) for at in chunks.tolist())


def _heads_first(chunks: NDArray[np.uint64], size: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the chunks of a large bin in the order of insertion.

    Among chunks of one size, the first in the bin is the oldest, and the second is the newest.
    """
    starts = np.flatnonzero(np.diff(size, prepend=np.uint64(0)))
    groups = np.split(chunks, starts[1:]) if len(chunks) else []
    return np.concatenate([chunks[:0], *(part for g in groups for part in (g[:1], g[:0:-1]))])


def _cached(found: Capture, heap: Heap) -> NDArray[np.int64]:
    """Return the chunks in caches, each at the moment when its arena was read."""
    number = {thread.number: place for place, thread in enumerate(_in_order(found))}
    parts = [_in_lists(arena.lists, arena.mine, number) for arena in heap.arenas]
    last = heap.arenas[-1].lists
    parts.append(_in_lists(last, np.isin(last.chunk, heap.elsewhere), number))
    thread, which, depth, chunk = np.concatenate(parts, axis=1)
    order = np.lexsort((-depth, which, thread))
    kind = np.full(len(order), CACHE)
    return np.stack([kind, thread[order], chunk[order]], axis=1)


def _in_lists(lists: Lists, mine: NDArray[np.bool_], number: dict[int, int]) -> NDArray[np.int64]:
    """Return, for cached chunks: thread, list, number of chunks before it, and address."""
    threads = [number.get(table.thread or 0, -1) for table in lists.tables]
    thread = np.array(threads, np.int64)[lists.table]
    key = lists.table * np.int64(1 << 20) + lists.number
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    depth = np.empty(len(key), np.int64)
    lengths = np.diff(np.append(first, len(key)))
    depth[order] = np.arange(len(key)) - np.repeat(first, lengths)
    known = mine & (thread >= 0)
    columns = thread, lists.number, depth, lists.chunk.astype(np.int64)
    return np.stack([column[known] for column in columns])


def _in_order(found: Capture) -> list[Thread]:
    return sorted(found.threads, key=lambda thread: thread.number)


def _idle(arenas: Sequence[ArenaHeap]) -> list[int]:
    """Return the arenas on the list of arenas without threads, the list's first arena last."""
    idle = {
        one.state.address: number for number, one in enumerate(arenas) if not one.state.attached
    }
    following = {arenas[number].state.next_free for number in idle.values()}
    order: list[int] = []
    at = next((address for address in idle if address not in following), 0)
    while at in idle and idle[at] not in order:
        order.append(idle[at])
        at = arenas[idle[at]].state.next_free
    return order[::-1]


def _threads(found: Capture, heap: Heap, arenas: dict[int, int]) -> NDArray[np.int64]:
    """Return the arena and the table of each thread."""
    tables = {table.thread: table for table in heap.arenas[-1].lists.tables}
    rows = []
    for thread in _in_order(found):
        table = tables.get(thread.number)
        address = heap.thread_arenas.get(thread.number, 0) if table is None else table.arena
        row = (int(table is not None), table.address - HEADER if table else 0)
        rows.append((arenas.get(address, -1), *row))
    return _rows(rows, 3)


def _parameters(heap: Heap) -> dict[str, int]:
    found = heap.parameters
    values = {
        "trim_threshold": found.trim_threshold,
        "top_pad": found.top_pad,
        "mmap_threshold": found.mmap_threshold,
        "mmap_max": found.mmap_max,
        "tcache_count": found.cache_count,
        "arena_max": found.arena_max,
        "adjusts": int(not found.fixed_thresholds),
    }
    return {name: min(max(value, 0), _UNLIMITED) for name, value in values.items()}


def _resident(target: Target, ranges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the runs of resident pages in ranges."""
    rows = []
    for start, end in ranges.tolist():
        begins, ends = runs_of(target.pages(down(start), up(end)) != ABSENT)
        rows.append(np.stack([begins, ends], axis=1) * PAGE + down(start))
    return np.concatenate([np.empty((0, 2), np.int64), *rows])
