"""An index of a run's stays, for fast windows of its heap map and look-ups by address."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import MAPPED_FROM, Run
from simalloc.measure._c import fill_window
from simalloc.measure.folded_map import CHUNK, Folding, in_chunks, union
from simalloc.measure.heap_map import COLUMNS, ROWS, HeapMap, filled_map, frame_of, most_at_once
from simalloc.measure.stays import Stays, stays_of
from simalloc.trace import EventSource

_KINDS: Final = 64


@dataclass(frozen=True, eq=False)
class Atlas:
    """The stays of a run, in an order in which the stays in a window form few ranges.

    They are sorted by kind and then by their ends. A stay of kind `k` lasts less than 2**k events,
    and at least half of that. Therefore stays of kind `k` that are live at an event end at most
    2**k events later. Among the stays that end in this time, at least half are live at the event.
    """

    run: Run
    stays: Stays
    edges: NDArray[np.int64]
    """Start of each kind: kind `k` is at `edges[k]` to `edges[k + 1] - 1`."""
    folding: Folding | None = None
    """The used chunks of a folded atlas, or None."""

    @property
    def height(self) -> float:
        """The highest address of the map, in bytes of the program."""
        return self.folding.height / self.run.scale if self.folding else self.run.peak_heap_bytes

    @property
    def apart(self) -> int:
        """Peak bytes of objects in memory that is mapped apart from the heap."""
        frame = frame_of(self.run, None, None, 1, 1)
        return most_at_once(self._apart.requested, self._apart.since, self._apart.until, frame)

    def folded(self) -> Atlas:
        """Return the atlas without the chunks of addresses that no object ever uses.

        Its addresses are positions in the remaining chunks (`folded_map`).
        """
        first = self.stays.placed // CHUNK
        size = np.maximum(self.stays.requested * self.stays.scale, 1)
        folding = union(first, (self.stays.placed + size - 1) // CHUNK + 1, self.stays.since)
        stays = replace(self.stays, placed=folding.folded(self.stays.placed))
        return replace(self, stays=stays, folding=folding)

    def position(self, address: float) -> float:
        """Return the position of an object's address on the map, in bytes of the program."""
        if self.folding is None:
            return address
        scaled = np.array([round(address * self.run.scale)])
        return float(self.folding.folded(scaled)[0]) / self.run.scale

    def window(
        self,
        *,
        events: tuple[int, int] | None = None,
        addresses: tuple[float, float] | None = None,
        columns: int = COLUMNS,
        rows: int = ROWS,
    ) -> HeapMap:
        """Return the map that `heap_map` returns, in time proportional to the window's contents.

        A folded atlas returns the map that `folded_map` returns.
        """
        frame = frame_of(self.run, events, addresses or (0, self.height), columns, rows)
        stays = self.stays
        ranges = self.ranges(frame.first_event, frame.last_event)

        def fill(live: NDArray[np.float64], born: NDArray[np.float64]) -> None:
            fill_window(
                stays.placed,
                stays.requested,
                stays.birth,
                stays.since,
                stays.until,
                live,
                born,
                shape=frame.shape,
                ranges=ranges.ravel(),
                scale=stays.scale,
            )

        apart = most_at_once(self._apart.requested, self._apart.since, self._apart.until, frame)
        found = filled_map(self.run, frame, fill, apart)
        return in_chunks(found, self.folding, self.run.scale) if self.folding else found

    @cached_property
    def _apart(self) -> Stays:
        """Stays in memory that is mapped apart from the heap and has no position on a map."""
        return self.stays.taken(np.flatnonzero(self.stays.placed >= MAPPED_FROM))

    def at(self, event: int, address: float, near: float = 0.0) -> int | None:
        """Return the stay at an event and address (bytes of the program).

        If the address is in no stay, the result is the nearest stay less than `near` bytes away, or
        None.
        """
        found = [np.arange(start, end) for start, end in self.ranges(event, event + 1)]
        places = np.concatenate(found) if found else np.empty(0, np.int64)
        places = places[self.stays.since[places] <= event]
        if not len(places):
            return None
        low = self.stays.placed[places] / self.stays.scale
        high = low + np.maximum(self.stays.requested[places], 1)
        inside = (low <= address) & (address < high)
        away = np.where(inside, -1.0, np.maximum(low - address, address - high))
        nearest = int(away.argmin())
        return int(places[nearest]) if away[nearest] < near else None

    def ranges(self, first: int, last: int) -> NDArray[np.int64]:
        """Return ranges of stays, (n, 2), that contain all stays within a span of events.

        The span ends before the event `last`.
        """
        found = []
        for kind in np.flatnonzero(np.diff(self.edges)).tolist():
            low, high = self.edges[kind : kind + 2].tolist()
            ended = self.stays.until[low:high]
            start, end = np.searchsorted(ended, (first + 1, last + (1 << kind) - 1)).tolist()
            found.append((low + start, low + end))
        return np.array(found, np.int64).reshape(-1, 2)


def atlas(source: EventSource, run: Run) -> Atlas:
    """Return the atlas of a run.

    The trace is replayed unless the run was made with `addresses=True`. Raises `SimallocError` if
    the run is not the trace's.
    """
    stays = stays_of(source, run)
    kinds = np.frexp(stays.until - stays.since)[1].astype(np.uint8)  # number of binary digits
    edges = np.concatenate(([0], np.bincount(kinds, minlength=_KINDS).cumsum()))
    return Atlas(run, stays.taken(np.argsort(kinds, kind="stable")), edges)
