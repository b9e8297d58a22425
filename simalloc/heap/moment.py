"""The heap at one moment: every block, and what lives in it."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap._core import Simulation
from simalloc.heap.setting import Setting
from simalloc.heap.stepping import parts_of, replay
from simalloc.heap.ways import way_of
from simalloc.trace import Op, Stretch
from simalloc.trace.events import allocates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from simalloc.heap.offline import OfflineHeap
    from simalloc.heap.run import Run
    from simalloc.trace import EventSource


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


def check_run(source: EventSource, run: Run) -> None:
    """Raise `SimallocError` unless the run may be one of the trace, by how long both are."""
    if run.events != len(source) or run.objects != source.objects:
        raise SimallocError(
            f"the run of {run.trace} belongs to another trace than this one, {source.name}"
        )


def moment(
    source: EventSource,
    run: Run,
    event: int | None = None,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> Moment:
    """Return the heap of a run after an event; without one, when the heap first has its peak.

    The trace is replayed up to there; `progress` is called with the number of events done since its
    last call. Raises `SimallocError` if there is no such event, or the run is not the trace's.
    """
    with _replay_of(source, run, progress) as heap:
        if event is None:
            event = _go_to_peak(heap, source, run)
        else:
            heap.go_past(event)
        return heap.moment(event)


def tilings(
    source: EventSource,
    run: Run,
    events: Iterable[int],
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> Iterator[Tiling]:
    """Yield how blocks tile the heap of a run after each of some events, which ascend.

    `progress` is as of `moment`, and so is what is raised.
    """
    with _replay_of(source, run, progress) as heap:
        for event in events:
            heap.go_past(event)
            yield heap.tiling()


@contextmanager
def _replay_of(source: EventSource, run: Run, progress: Callable[[int], None]) -> Iterator[_Replay]:
    """Replay a run's trace within the block, as far as is asked for."""
    check_run(source, run)
    setting = Setting.of(source, run.policy, run.scale, run.realloc)
    with closing(setting.source.stretches()) as stretches:
        yield _Replay(setting, stretches, progress)


def _go_to_peak(heap: _Replay, source: EventSource, run: Run) -> int:
    """Replay until the heap first has its peak and return that event."""
    if not len(source):
        raise SimallocError(f"{source.name} has no events, so its heap has no peak")
    line = run.timeline
    start = int(line.heap_high.argmax()) * line.interval
    peak, live = run.peak_heap_bytes * run.scale, run.live_bytes_at_peak_heap
    for event in range(start, len(source)):
        heap.go_past(event)
        now = heap.simulation.figures()
        if now["heap"] >= peak and now["live"] == live:  # fractions may be as high before
            return event
    raise SimallocError(f"the run does not belong to {source.name}: its peak is never reached")


class _Replay:
    """A heap as the trace goes by, and what was allocated last in each of the trace's slots."""

    def __init__(
        self,
        setting: Setting,
        stretches: Iterator[Stretch],
        progress: Callable[[int], None],
    ) -> None:
        self.simulation: Simulation | OfflineHeap = way_of(setting.policy).heap_of(setting)
        self._setting = setting
        self._stretches = stretches
        self._progress = progress
        self._stretch = Stretch.empty(0)
        self._first = 0  # event of the stretch
        self._done = 0
        self._noted = 0
        self._objects = 0
        slots = setting.source.slots
        self._object, self._size, self._since = (np.zeros(slots, np.int64) for _ in range(3))

    def go_past(self, event: int) -> None:
        """Carry out the events up to this one; it must not be before the last."""
        source = self._setting.source
        if not max(self._done - 1, 0) <= event < len(source):
            raise SimallocError(
                f"event {event} of {source.name} cannot be shown; the events that can are "
                f"{max(self._done - 1, 0)} to {len(source) - 1}"
            )
        while self._done <= event:
            if self._done == self._first + len(self._stretch.op):
                self._next_stretch()
            self._carry_out(self._stretch.part(self._done - self._first, event + 1 - self._first))

    def tiling(self) -> Tiling:
        """Return how blocks tile the heap."""
        count = self.simulation.block_count()
        tiling = Tiling(*(np.empty(count, np.int64) for _ in Tiling._fields))
        self.simulation.blocks(*tiling)
        return tiling

    def moment(self, event: int) -> Moment:
        """Return the heap as it is, after this event."""
        self._note()
        scale = self._setting.scale
        address, size, slot = self.tiling()
        taken = slot >= 0
        number, requested, since = slot.copy(), np.zeros_like(slot), np.full_like(slot, -1)
        number[taken] = self._object[slot[taken]]
        requested[taken] = self._size[slot[taken]]
        since[taken] = self._since[slot[taken]]
        return Moment(
            event=event,
            heap_bytes=float(size[slot != HOLE].sum()) / scale,
            address=address / scale,
            size=size / scale,
            object=number,
            requested=requested,
            since=since,
        )

    def _next_stretch(self) -> None:
        self._note()
        self._first = self._done
        self._stretch = next(self._stretches)

    def _carry_out(self, events: Stretch) -> None:
        for part in parts_of(events, self._setting.policy):
            self._done += len(part.op)
            if isinstance(self.simulation, Simulation):
                replay(self.simulation, part)
            else:
                self.simulation.go_to(self._done)
            self._progress(len(part.op))

    def _note(self) -> None:
        """Take note of what has been allocated in which slot since this was last done."""
        part = self._stretch.part(self._noted - self._first, self._done - self._first)
        here = np.flatnonzero(allocates(part.op))
        slot = part.slot[here]
        self._size[slot] = part.size[here]  # of several events in a slot the last stays
        self._since[slot] = self._noted + here
        new = np.flatnonzero(part.op == Op.MALLOC)
        self._object[part.slot[new]] = self._objects + np.arange(len(new))
        self._objects += len(new)
        self._noted = self._done
