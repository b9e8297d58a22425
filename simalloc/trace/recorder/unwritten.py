"""Bytes of large objects that a recorded program never wrote, as a column of its trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import allocates
from simalloc.trace.recorder.large import Large, live_large
from simalloc.trace.recorder.raw import EVERY_RECORD, RawRecording
from simalloc.trace.recorder.resident import UNSEEN, Sample, Seen

_SLACK: Final = 256 << 10
"""Uncertainty of the resident size of a process in bytes: the kernel counts it per CPU."""

LARGE: Final = 16 << 10
"""Minimum size of a large object in bytes: half of the library's limit, which applies to usable
bytes.
"""


class Unwritten:
    """Bytes that were never written, at the event that set the object's size.

    The library measures them when the object is freed or resized, and at the program's end. A page
    that was read but never written appears as written. Therefore the last observation from outside
    also counts for objects that are live at the end, minus the process's growth since that
    observation.
    """

    def __init__(self, events: NDArray[np.int64], values: NDArray[np.int64]) -> None:
        self._events = events
        self._values = values
        self._begun = 0

    @classmethod
    def of(cls, raw: RawRecording, before: int = EVERY_RECORD, seen: Seen = UNSEEN) -> Self | None:
        """Return the unwritten bytes of large blocks in a recording up to `before`, or None.

        `seen` contains the observations of the process from outside.
        """
        observed = seen.unwritten
        if not raw.has_unwritten and not any(observed.values()):
            return None
        begun, objects, first = [], [], 0
        for chunk in raw.chunks(before):
            (at,) = np.nonzero(allocates(chunk.op) & (chunk.size >= LARGE))
            begun.append(at + first)
            objects.append(chunk.key[at])
            first += len(chunk)
        rows = np.concatenate([raw.unwritten, _of_live(raw, _unwritten_since(raw, seen), first)])
        if not begun or not len(rows):
            return None
        return cls(*_placed(np.concatenate(begun), np.concatenate(objects), rows, first + 1))

    def next(self, events: int) -> NDArray[np.int64]:
        """Return the column for the next `events` events."""
        column = np.zeros(events, np.int64)
        first, end = np.searchsorted(self._events, (self._begun, self._begun + events))
        column[self._events[first:end] - self._begun] = self._values[first:end]
        self._begun += events
        return column


def _unwritten_since(raw: RawRecording, seen: Seen) -> Mapping[Large, int]:
    """Return the bytes of live blocks that were unwritten at the last observation and at the end.

    At most as many bytes of a block were written after the observation as the process has grown.
    """
    if raw.processor_ended is None:
        return seen.unwritten
    growth = seen.growth(Sample(*row) for row in raw.looks.tolist())
    if growth is None:
        return {}
    return {
        block: size - growth for block, size in seen.unwritten.items() if size > growth + _SLACK
    }


def _of_live(raw: RawRecording, observed: Mapping[Large, int], events: int) -> NDArray[np.int64]:
    """Return the outside observations of blocks that are still live, in the library's format.

    Each row contains the number of events until then, the object's number, and its unwritten bytes.
    """
    rows = [
        (events, raw.object_at(block[0]), observed[block])
        for block, _ in live_large(raw)
        if observed.get(block)
    ]
    known = [row for row in rows if row[1] is not None]
    return np.array(known, np.int64).reshape(-1, 3)


def _placed(
    begun: NDArray[np.int64], objects: NDArray[np.int64], seen: NDArray[np.int64], events: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the events that set the sizes of observed objects, and each event's largest value."""
    numbers, of_begun = np.unique(objects, return_inverse=True)
    known = np.isin(seen[:, 1], numbers)
    when, object_, value = seen[known].T
    order = np.argsort(of_begun * events + begun)
    keys = (of_begun * events + begun)[order]
    last = np.searchsorted(keys, np.searchsorted(numbers, object_) * events + when) - 1
    placed = begun[order[last]]
    by_value = np.lexsort((value, placed))
    largest = np.flatnonzero(np.diff(placed[by_value], append=-1))
    return placed[by_value[largest]], value[by_value[largest]]
