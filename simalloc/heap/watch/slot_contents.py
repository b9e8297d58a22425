"""What was allocated last in each of a trace's slots."""

from __future__ import annotations

import numpy as np

from simalloc.heap.snapshot import HOLE, Moment, Tiling
from simalloc.trace import ReplayedEvents
from simalloc.trace.events import allocates, begins


class Latest:
    """The object in each slot, what it asked for and when; told of all events, one run a time."""

    def __init__(self, slots: int) -> None:
        self._object, self._size, self._since = (np.zeros(slots, np.int64) for _ in range(3))
        self._events = 0
        self._objects = 0

    def note(self, events: ReplayedEvents) -> None:
        """Take note of the next events."""
        here = np.flatnonzero(allocates(events.op))
        slot = events.slot[here]
        self._size[slot] = events.size[here]  # of several events in a slot the last stays
        self._since[slot] = self._events + here
        new = np.flatnonzero(begins(events.op))
        self._object[events.slot[new]] = self._objects + np.arange(len(new))
        self._objects += len(new)
        self._events += len(events.op)

    def moment(self, tiling: Tiling, scale: int) -> Moment:
        """Return what the blocks of a heap hold after the latest event."""
        address, size, slot = tiling
        taken = slot >= 0
        number, requested, since = slot.copy(), np.zeros_like(slot), np.full_like(slot, -1)
        number[taken] = self._object[slot[taken]]
        requested[taken] = self._size[slot[taken]]
        since[taken] = self._since[slot[taken]]
        return Moment(
            event=self._events - 1,
            heap_bytes=float(size[slot != HOLE].sum()) / scale,
            address=address / scale,
            size=size / scale,
            object=number,
            requested=requested,
            since=since,
            exact_address=address,
            exact_size=size,
        )
