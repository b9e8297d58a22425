"""Heap maps without unused addresses, for heaps whose memory is far apart.

Current mallocs map arenas and segments at addresses with gigabytes between them. A folded map
contains only the chunks of addresses that any object ever uses, in ascending order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import HeapObserver, Run
from simalloc.measure.heap_map import Drawing, HeapMap
from simalloc.measure.longest_stays import Longest
from simalloc.measure.stays import Stays
from simalloc.measure.watch import StayWatcher, watch
from simalloc.trace import EventSource
from simalloc.trace.statistics import Ended

CHUNK: Final = 16 << 10
"""Scaled bytes of a chunk. If any part of a chunk is used, the whole chunk is shown."""
NEVER: Final = int(np.iinfo(np.int64).max)
_TOGETHER: Final = 32
"""Number of batches of stays that are joined."""
_KEPT_EVENTS: Final = 1_000_000
"""Maximum events of a trace whose stays are kept, 64 bytes each, instead of a second replay."""


class Folding(NamedTuple):
    """Runs of consecutive chunks with the same first use, by address; int64 arrays."""

    first: NDArray[np.int64]
    """Number of each run's first chunk."""
    end: NDArray[np.int64]
    """Number of the chunk after each run."""
    since: NDArray[np.int64]
    """First event that places an object in the chunks of each run."""

    @property
    def before(self) -> NDArray[np.int64]:
        """Number of used chunks before each run, followed by their total number."""
        return np.append(0, np.cumsum(self.end - self.first))

    @property
    def height(self) -> int:
        """Total size of the used chunks in scaled bytes."""
        return max(1, int(self.before[-1])) * CHUNK

    def folded(self, address: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the folded positions of scaled addresses in used chunks."""
        chunk, inside = np.divmod(address, CHUNK)
        run = np.searchsorted(self.first, chunk, side="right") - 1
        return (self.before[run] + chunk - self.first[run]) * CHUNK + inside

    def used_since(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first use of the folded chunks from each edge up to the next.

        The last edge covers all chunks above it. Each edge covers at least one chunk.
        """
        last = np.maximum(np.append(edges[1:], self.before[-1]) - 1, edges)
        low, high = (np.searchsorted(self.before, each, side="right") for each in (edges, last))
        pairs = np.column_stack((low - 1, high)).reshape(-1)
        since: NDArray[np.int64] = np.minimum.reduceat(np.append(self.since, NEVER), pairs)[::2]
        return since


def union(first: NDArray[np.int64], end: NDArray[np.int64], since: NDArray[np.int64]) -> Folding:
    """Return the runs of chunks in the union of some ranges, with the first use of each.

    The ranges may be of any length: work and memory depend only on their number. A range over `n`
    elementary runs is entered twice, at both ends, in the level of runs of 2**k with the largest
    2**k of at most `n`. Each level then passes its events on to the halves.
    """
    edges = np.unique(np.concatenate((first, end)))
    low, high = np.searchsorted(edges, first), np.searchsorted(edges, end)
    level = np.frexp(high - low)[1] - 1
    earliest = np.full(max(1, len(edges)), NEVER)
    for each in range(int(level.max(initial=0)), -1, -1):
        here, half = level == each, 1 << each >> 1
        np.minimum.at(earliest, low[here], since[here])
        np.minimum.at(earliest, high[here] - (1 << each), since[here])
        if half:
            earliest[half:] = np.minimum(earliest[half:], earliest[:-half])
    used = np.flatnonzero(earliest[:-1] != NEVER)
    return Folding(edges[used], edges[used + 1], earliest[used])


def is_mostly_apart(apart: int, run: Run) -> bool:
    """Return whether more than half of the peak live bytes are mapped apart from the heap.

    A folded map shows such memory.
    """
    return 2 * apart > run.max_live_bytes


def folded_map(
    source: EventSource,
    run: Run,
    observers: Sequence[HeapObserver] = (),
    *,
    columns: int,
    rows: int,
    named: int,
    further: Callable[[float], Sequence[StayWatcher]] = lambda _: (),
    pages: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[HeapMap, Stays]:
    """Return the folded map of a run, and the `named` stays with the largest bytes times events.

    A cell counts as memory from the first event that places an object in its chunk. The trace is
    replayed, a long one twice. `progress` is called with the number of events done since its last
    call; the total is twice the trace's events. `observers` receive the heap in the first replay,
    to which `pages` applies. `further` is called with the height in bytes, and returns other
    watchers of the stays at folded addresses. Raises the same exceptions as `watch`.
    """
    seen, kept = _Chunks(run.scale), _Kept()
    is_short = len(source) <= _KEPT_EVENTS
    first = [kept] if is_short else [seen]
    watch(source, run, first, observers, pages=pages, progress=progress)
    batches = kept.batches()
    for stays in batches:
        seen.see(stays)
    folding = seen.folding()
    top = folding.height / run.scale
    drawing = Drawing(run, addresses=(0, top), columns=columns, rows=rows)
    longest = Longest(run, named)
    folded = _Folded(folding, [drawing, longest, *further(top)])
    if is_short:
        for stays in batches:
            folded.see(stays)
        progress(len(source))
    else:
        watch(source, run, [folded], progress=progress)
    return in_chunks(drawing.map(), folding, run.scale), longest.stays(source)


class _Chunks:
    """Collects the chunks that stays use."""

    def __init__(self, scale: int) -> None:
        self._scale = scale
        self._found = union(*[np.empty(0, np.int64)] * 3)

    def see(self, stays: Ended) -> None:
        first = stays.mark // CHUNK
        last = (stays.mark + np.maximum(stays.size * self._scale, 1) - 1) // CHUNK
        ranges = (first, last + 1, stays.born)
        self._found = union(*map(np.concatenate, zip(self._found, ranges, strict=True)))

    def folding(self) -> Folding:
        return self._found


class _Kept:
    """Keeps all stays and joins small batches, because each batch has a fixed cost."""

    def __init__(self) -> None:
        self._kept: list[Ended] = []

    def see(self, stays: Ended) -> None:
        self._kept.append(stays)

    def batches(self) -> list[Ended]:
        """Return the stays in larger batches."""
        return [
            Ended(*map(np.concatenate, zip(*self._kept[first : first + _TOGETHER], strict=True)))
            for first in range(0, len(self._kept), _TOGETHER)
        ]


class _Folded:
    """Passes stays at folded addresses to watchers."""

    def __init__(self, folding: Folding, watchers: Sequence[StayWatcher]) -> None:
        self._folding = folding
        self._watchers = watchers

    def see(self, stays: Ended) -> None:
        folded = stays._replace(mark=self._folding.folded(stays.mark))
        for watcher in self._watchers:
            watcher.see(folded)


def in_chunks(drawn: HeapMap, folding: Folding, scale: int) -> HeapMap:
    """Return a map of folded addresses, with the chunks used so far as memory."""
    heap = np.full(len(drawn.heap), folding.height / scale)
    return replace(drawn, heap=heap, mapped=_used_cells(drawn, folding, scale))


def _used_cells(drawn: HeapMap, folding: Folding, scale: int) -> NDArray[np.bool_]:
    """Return a mask of the cells in chunks used so far: (rows, columns)."""
    rows, columns = drawn.live.shape
    if not len(folding.since):
        return np.zeros((rows, columns), np.bool_)
    low = drawn.lowest_address + drawn.cell_bytes * np.arange(rows)
    edges = (low * scale / CHUNK).astype(np.int64)
    since = folding.used_since(np.minimum(edges, int(folding.before[-1]) - 1))
    ends = drawn.first_event + drawn.cell_events * np.arange(1, columns + 1)
    used: NDArray[np.bool_] = since[:, None] < ends[None, :]
    return used
