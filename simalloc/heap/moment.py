"""The heap at one moment: every block, and what lives in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap.simulate import new_simulation, replay

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.heap._core import Simulation
    from simalloc.heap.run import Run
    from simalloc.trace import Trace


@dataclass(frozen=True, eq=False)
class Moment:
    """The blocks that tile the heap after an event, by address; an entry a block in every array.

    Bytes are the program's. Blocks that hold no object have 0 requested bytes and `since` of -1.
    """

    FREE: ClassVar[int] = -1
    WASTE: ClassVar[int] = -2

    event: int
    heap_bytes: float
    address: NDArray[np.float64]
    size: NDArray[np.float64]
    """Bytes taken, at least those requested."""
    object: NDArray[np.int64]
    """The object's number, or `FREE` or `WASTE`."""
    requested: NDArray[np.int64]
    since: NDArray[np.int64]
    """The event that put the object there or gave it its size."""


def moment(trace: Trace, run: Run, event: int | None = None) -> Moment:
    """Return the heap of a run after an event; without one, when the heap first has its peak.

    The trace is replayed up to there. Raises `SimallocError` if there is no such event, or the
    trace is empty.
    """
    if run.events != len(trace) or run.objects != trace.objects:
        raise SimallocError(f"the run of {run.trace} is not one of this trace, {trace.name}")
    if event is not None and not 0 <= event < len(trace):
        raise SimallocError(f"there is no event {event} in {trace.name}; it has {len(trace)}")
    simulation = new_simulation(run.policy, scale=run.scale, realloc=run.realloc)
    if event is None:
        event = _replay_to_peak(simulation, trace, run)
    else:
        _replay_events(simulation, trace, 0, event + 1)
    return _moment(simulation, trace, event, run.scale)


def _replay_to_peak(simulation: Simulation, trace: Trace, run: Run) -> int:
    """Replay until the heap first has its peak and return that event."""
    if not len(trace):
        raise SimallocError(f"{trace.name} has no events, so its heap has no peak")
    line = run.timeline
    start = int(line.heap_high.argmax()) * line.interval
    _replay_events(simulation, trace, 0, start)
    peak = run.peak_heap_bytes * run.scale
    for event in range(start, len(trace)):
        _replay_events(simulation, trace, event, event + 1)
        if simulation.figures()["heap"] >= peak:
            return event
    raise SimallocError(f"the run does not belong to {trace.name}: its peak is never reached")


def _replay_events(simulation: Simulation, trace: Trace, start: int, stop: int) -> None:
    part = slice(start, stop)
    replay(simulation, trace.op[part], trace.size[part], trace.slot[part])


def _moment(simulation: Simulation, trace: Trace, event: int, scale: int) -> Moment:
    count = simulation.block_count()
    address, size, slot = (np.empty(count, np.int64) for _ in range(3))
    simulation.blocks(address, size, slot)
    latest = np.full(trace.slots, -1, np.int64)
    latest[trace.slot[: event + 1]] = np.arange(event + 1)  # the last event of each slot stays
    taken = slot >= 0
    since = np.full(count, -1, np.int64)
    since[taken] = latest[slot[taken]]
    return Moment(
        event=event,
        heap_bytes=simulation.figures()["heap"] / scale,
        address=address / scale,
        size=size / scale,
        object=np.where(taken, trace.object[since], slot),
        requested=np.where(taken, trace.size[since], 0),
        since=since,
    )
