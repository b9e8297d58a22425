"""Simultaneously live objects: peaks, and live bytes over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import Op, begins
from simalloc.trace.source import EventSource
from simalloc.trace.statistics.life_reader import LifeEvents, LifeReader


@dataclass(frozen=True)
class Peak:
    """Maximum live amount after any event, and the first event after which it is reached."""

    amount: int
    event: int


@dataclass(frozen=True)
class LiveCurve:
    """Live bytes over time, in equal spans of events. A span contains its extremes."""

    last_event: tuple[int, ...]
    """The last event of each span."""
    allocated: tuple[int, ...]
    """Bytes allocated up to the last event of each span."""
    least: tuple[int, ...]
    most: tuple[int, ...]


def most_together(born: NDArray[np.int64], died: NDArray[np.int64]) -> Peak:
    """Return the maximum number of overlapping lives. At one event, deaths precede births.

    `born` is in ascending order.
    """
    if not len(born):
        return Peak(0, 0)
    dead = np.searchsorted(np.sort(died), born, side="right")
    together = np.arange(1, len(born) + 1) - dead
    first = int(together.argmax())
    return Peak(int(together[first]), int(born[first]))


class Peaks:
    """Finds the peaks of live bytes and of live objects."""

    def __init__(self) -> None:
        self.bytes = Peak(0, 0)
        self.objects = Peak(0, 0)
        self._live_objects = 0

    def add(self, events: LifeEvents) -> None:
        """Add the next events."""
        if events.last:
            return
        change = begins(events.op).astype(np.int64) - (events.op == Op.FREE)
        live_objects = self._live_objects + np.cumsum(change)
        self._live_objects = int(live_objects[-1])
        self.bytes = _higher(self.bytes, events.live, events.first)
        self.objects = _higher(self.objects, live_objects, events.first)


class Curve:
    """Computes live bytes over time in at most `spans` spans, for a trace of `events` events."""

    def __init__(self, events: int, spans: int = 60) -> None:
        spans = min(spans, events)
        self._starts = np.arange(spans) * events // max(spans, 1)
        self._last = np.append(self._starts[1:], events)[:spans] - 1
        self._allocated = np.zeros(spans, np.int64)
        self._min = np.full(spans, np.iinfo(np.int64).max)
        self._max = np.zeros(spans, np.int64)

    def add(self, events: LifeEvents) -> None:
        """Add the next events."""
        if events.last:
            return
        spans, cuts = spans_of(self._starts, events.first, len(events))
        self._allocated[spans] += np.add.reduceat(events.size, cuts)
        least, most = self._min[spans], self._max[spans]
        np.minimum(least, np.minimum.reduceat(events.live, cuts), out=least)
        np.maximum(most, np.maximum.reduceat(events.live, cuts), out=most)

    def curve(self) -> LiveCurve:
        """Return the curve of the events so far."""
        return LiveCurve(
            last_event=_ints(self._last),
            allocated=_ints(np.cumsum(self._allocated)),
            least=_ints(self._min),
            most=_ints(self._max),
        )


def curve_of(source: EventSource) -> LiveCurve:
    """Return a trace's live bytes over time."""
    curve = Curve(len(source))
    for events in LifeReader(source):
        curve.add(events)
    return curve.curve()


def spans_of(starts: NDArray[np.int64], first: int, events: int) -> tuple[slice, NDArray[np.int64]]:
    """Return the spans that a run of events touches, and the start of each span in the run."""
    begun = int(np.searchsorted(starts, first, side="right")) - 1
    end = int(np.searchsorted(starts, first + events))
    return slice(begun, end), np.maximum(starts[begun:end] - first, 0)


def _higher(peak: Peak, live: NDArray[np.int64], first: int) -> Peak:
    event = int(live.argmax())
    amount = int(live[event])
    return Peak(amount, first + event) if amount > peak.amount else peak


def _ints(values: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(values.tolist())
