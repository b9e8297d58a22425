"""A snapshot of the whole heap of a run after one event."""

from __future__ import annotations

from collections.abc import Callable

from simalloc.errors import SimallocError
from simalloc.heap.quantity import Quantity, worst
from simalloc.heap.run import Run
from simalloc.heap.snapshot import HeapSnapshot
from simalloc.heap.watch.heap_replay import HeapReplay
from simalloc.trace import EventSource


def heap_snapshot(
    source: EventSource,
    run: Run,
    event: int | None = None,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> HeapSnapshot:
    """Return the heap of a run after an event, by default after the first peak of the heap.

    The trace is replayed up to the event. `progress` is called with the number of events since its
    last call. Raises `SimallocError` if the event does not exist, or if the run is not of the
    trace.
    """
    taken = _Snapshot(event_or_peak(source, run, event))
    HeapReplay(source, run, [taken], events=0, progress=progress).go()
    return taken.snapshot


def event_or_peak(source: EventSource, run: Run, event: int | None, of: Quantity = "mapped") -> int:
    """Return an event, or by default the event of the worst value of a quantity (heap/quantity.py).

    Raises `SimallocError` for a trace without events and for an unknown or unmeasured quantity.
    """
    if event is not None:
        return event
    if not len(source):
        raise SimallocError(f"{source.name} has no events, so its heap has no peak")
    return worst(run, of).event


class _Snapshot:
    """Keeps the whole heap after an event."""

    snapshot: HeapSnapshot

    def __init__(self, event: int) -> None:
        self.events = (event,)

    def look(self, heap: HeapReplay) -> None:
        """Store the heap."""
        self.snapshot = HeapSnapshot.joined(list(heap.parts()))
