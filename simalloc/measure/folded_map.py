"""The map of a heap whose memory lies far apart: what nothing ever lies in is left out.

Mallocs of today map arenas and segments at addresses that have gigabytes between them. Folded,
those chunks of addresses in which any object ever lies follow each other, in their order.
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
"""Bytes, scaled as the run's: what of a chunk is used shows all of it."""
_TOGETHER: Final = 32
"""Lists of stays that are put together."""
_KEPT_EVENTS: Final = 1_000_000
"""Maximum events of a trace whose stays are kept, 64 bytes each, instead of a second replay."""


class Folding(NamedTuple):
    """The chunks that are ever used, ascending, and the event since which each is; int64 arrays."""

    chunk: NDArray[np.int64]
    since: NDArray[np.int64]

    @property
    def height(self) -> int:
        """The scaled bytes of all of them."""
        return max(1, len(self.chunk)) * CHUNK

    def folded(self, address: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the folded positions of scaled addresses in used chunks."""
        chunk, inside = np.divmod(address, CHUNK)
        return np.searchsorted(self.chunk, chunk) * CHUNK + inside


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
    """Return the folded map of a run, and the `named` stays in it with the most bytes times events.

    A cell counts as memory from the first event on that places an object in its chunk. The trace is
    replayed, a long one twice, and `progress` is called with twice its events, as by `watch`.
    `observers` see the heap in the first replay, to which `pages` applies. `further` gets the
    height in bytes, and returns other watchers of the stays at folded addresses. Raises as `watch`
    does.
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
    drawn = drawing.map()
    return (
        replace(drawn, heap=np.full(len(drawn.heap), top), mapped=_used(drawn, folding, run.scale)),
        longest.stays(source),
    )


class _Chunks:
    """Collects the chunks in which stays lie."""

    def __init__(self, scale: int) -> None:
        self._scale = scale
        self._chunk = np.empty(0, np.int64)
        self._since = np.empty(0, np.int64)

    def see(self, stays: Ended) -> None:
        first = stays.mark // CHUNK
        last = (stays.mark + np.maximum(stays.size * self._scale, 1) - 1) // CHUNK
        spans = last - first + 1
        within = np.arange(spans.sum()) - np.repeat(np.cumsum(spans) - spans, spans)
        chunks = np.concatenate((self._chunk, np.repeat(first, spans) + within))
        since = np.concatenate((self._since, np.repeat(stays.born, spans)))
        order = np.lexsort((since, chunks))
        self._chunk, places = np.unique(chunks[order], return_index=True)
        self._since = since[order][places]

    def folding(self) -> Folding:
        return Folding(self._chunk, self._since)


class _Kept:
    """Keeps all stays and joins small batches, whose processing has a fixed cost."""

    def __init__(self) -> None:
        self._told: list[Ended] = []

    def see(self, stays: Ended) -> None:
        self._told.append(stays)

    def batches(self) -> list[Ended]:
        """Return them, many at a time."""
        return [
            Ended(*map(np.concatenate, zip(*self._told[first : first + _TOGETHER], strict=True)))
            for first in range(0, len(self._told), _TOGETHER)
        ]


class _Folded:
    """Tells watchers of stays at folded addresses."""

    def __init__(self, folding: Folding, watchers: Sequence[StayWatcher]) -> None:
        self._folding = folding
        self._watchers = watchers

    def see(self, stays: Ended) -> None:
        told = stays._replace(mark=self._folding.folded(stays.mark))
        for watcher in self._watchers:
            watcher.see(told)


def _used(drawn: HeapMap, folding: Folding, scale: int) -> NDArray[np.bool_]:
    """Return a mask of the cells in chunks that were used by then: (rows, columns)."""
    rows, columns = drawn.live.shape
    if not len(folding.chunk):
        return np.zeros((rows, columns), np.bool_)
    edges = (drawn.cell_bytes * scale * np.arange(rows) / CHUNK).astype(np.int64)
    since = np.minimum.reduceat(folding.since, np.minimum(edges, len(folding.since) - 1))
    ends = drawn.first_event + drawn.cell_events * np.arange(1, columns + 1)
    used: NDArray[np.bool_] = since[:, None] < ends[None, :]
    return used
