"""The heap at one moment: every block, and what lives in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap.offline import OfflineHeap
from simalloc.heap.setting import Setting
from simalloc.heap.simulate import replay

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from simalloc.heap._core import Simulation
    from simalloc.heap.run import Run
    from simalloc.trace import Trace


FREE: Final = -1
WASTE: Final = -2
CACHED: Final = -3
TABLE: Final = -4
HOLE: Final = -5
"""What a block holds instead of an object: its state (docs/policies.md). A hole is not mapped."""

MAPPED_FROM: Final = 1 << 62
"""The scaled address from which on memory is mapped apart; the break lies below."""


class Tiling(NamedTuple):
    """The blocks of the heap by address, scaled; an entry a block in every array."""

    address: NDArray[np.int64]
    size: NDArray[np.int64]
    slot: NDArray[np.int64]
    """Where the trace numbers the object that lives there, or the block's state, such as `FREE`."""


@dataclass(frozen=True, eq=False)
class Moment:
    """The blocks that tile the heap after an event, by address; an entry a block in every array.

    Bytes are the program's. Blocks that hold no object have 0 requested bytes and `since` of -1.
    """

    event: int
    heap_bytes: float
    address: NDArray[np.float64]
    size: NDArray[np.float64]
    """Bytes taken, at least those requested."""
    object: NDArray[np.int64]
    """The object's number, or the block's state, such as `FREE`."""
    requested: NDArray[np.int64]
    since: NDArray[np.int64]
    """The event that put the object there or gave it its size."""


def check_run(trace: Trace, run: Run) -> None:
    """Raise `SimallocError` unless the run may be one of the trace, by how long both are."""
    if run.events != len(trace) or run.objects != trace.objects:
        raise SimallocError(
            f"the run of {run.trace} is not one of this trace, {trace.name}: it is another trace's"
        )


def moment(trace: Trace, run: Run, event: int | None = None) -> Moment:
    """Return the heap of a run after an event; without one, when the heap first has its peak.

    The trace is replayed up to there. Raises `SimallocError` if there is no such event, or the run
    is not the trace's.
    """
    if event is not None:
        return _moment(next(tilings(trace, run, [event])), trace, event, run.scale)
    simulation = _begin(trace, run)
    event = _replay_to_peak(simulation, trace, run)
    return _moment(_tiling(simulation), trace, event, run.scale)


def tilings(trace: Trace, run: Run, events: Iterable[int]) -> Iterator[Tiling]:
    """Yield how blocks tile the heap of a run after each of some events, which ascend.

    Raises as `moment` does.
    """
    simulation = _begin(trace, run)
    done = 0
    for event in events:
        if not max(done - 1, 0) <= event < len(trace):
            raise SimallocError(
                f"event {event} of {trace.name} cannot be shown: it takes an event of "
                f"{max(done - 1, 0)} to {len(trace) - 1}"
            )
        _replay_events(simulation, trace, done, event + 1)
        done = event + 1
        yield _tiling(simulation)


def _begin(trace: Trace, run: Run) -> Simulation | OfflineHeap:
    check_run(trace, run)
    setting = Setting(trace, run.policy, run.scale, run.realloc)
    return OfflineHeap(setting) if setting.is_offline else setting.simulation()


def _replay_to_peak(simulation: Simulation | OfflineHeap, trace: Trace, run: Run) -> int:
    """Replay until the heap first has its peak and return that event."""
    if not len(trace):
        raise SimallocError(f"{trace.name} has no events, so its heap has no peak")
    line = run.timeline
    start = int(line.heap_high.argmax()) * line.interval
    _replay_events(simulation, trace, 0, start)
    peak, live = run.peak_heap_bytes * run.scale, run.live_bytes_at_peak_heap
    for event in range(start, len(trace)):
        _replay_events(simulation, trace, event, event + 1)
        now = simulation.figures()
        if now["heap"] >= peak and now["live"] == live:  # fractions may be as high before
            return event
    raise SimallocError(f"the run does not belong to {trace.name}: its peak is never reached")


def _replay_events(
    simulation: Simulation | OfflineHeap, trace: Trace, start: int, stop: int
) -> None:
    if isinstance(simulation, OfflineHeap):
        simulation.go_to(stop)
    else:
        replay(simulation, trace.stretch.part(start, stop))


def _tiling(simulation: Simulation | OfflineHeap) -> Tiling:
    count = simulation.block_count()
    tiling = Tiling(*(np.empty(count, np.int64) for _ in Tiling._fields))
    simulation.blocks(*tiling)
    return tiling


def _moment(tiling: Tiling, trace: Trace, event: int, scale: int) -> Moment:
    address, size, slot = tiling
    latest = np.full(trace.slots, -1, np.int64)
    latest[trace.slot[: event + 1]] = np.arange(event + 1)  # the last event of each slot stays
    taken = slot >= 0
    since = np.full(len(slot), -1, np.int64)
    since[taken] = latest[slot[taken]]
    return Moment(
        event=event,
        heap_bytes=float(size[slot != HOLE].sum()) / scale,
        address=address / scale,
        size=size / scale,
        object=np.where(taken, trace.object[since], slot),
        requested=np.where(taken, trace.size[since], 0),
        since=since,
    )
