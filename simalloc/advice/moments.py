"""The three moments at which settings are compared (docs/settings.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.advice.marks import Marked
from simalloc.heap import Run
from simalloc.trace import Trace
from simalloc.trace.at_start import live_at_start

_PAUSES: Final = 128
_EVENLY: Final = 128


class Moment(Enum):
    """Moments at which resident bytes are compared."""

    PEAK = "peak"
    """The maximum of the resident bytes."""
    UNUSED = "unused"
    """The maximum of the unused bytes (resident but not live) under the malloc in use."""
    MEAN = "mean"
    """The mean over the trace's clock, or over its events without a clock."""

    @property
    def words(self) -> str:
        """The moment in words, for use inside a sentence."""
        return _WORDS[self]


_WORDS: Final[Mapping[Moment, str]] = {
    Moment.PEAK: "at its peak",
    Moment.UNUSED: "when unused memory peaks",
    Moment.MEAN: "on average",
}


@dataclass(frozen=True, eq=False)
class Marks:
    """Events after which replays measure the resident bytes.

    `event` contains their numbers in ascending order, including the last event of the trace.
    `unused` is the event with the most unused bytes (resident but not live). `pause` contains the
    nanoseconds from each mark to the next event. `span` contains the nanoseconds from the previous
    mark (or the first event) to each mark. Both are empty if the trace has no times. Events before
    `first` allocate the blocks that were live at the start of the recording, and are excluded from
    all moments.
    """

    event: NDArray[np.int64]
    unused: int
    pause: NDArray[np.float64]
    span: NDArray[np.float64]
    first: int = 0

    @property
    def has_times(self) -> bool:
        """True if the mean over time uses the clock."""
        return len(self.pause) > 0


def marks_of(trace: Trace, unused: int) -> Marks:
    """Return the marks of a trace: after its longest pauses, and at regular distances."""
    count = len(trace)
    if not count:
        return Marks(np.empty(0, np.int64), -1, np.empty(0), np.empty(0))
    first = live_at_start(trace.provenance).last_event
    evenly = np.linspace(0, count - 1, min(count, _EVENLY)).astype(np.int64)
    chosen = np.append(evenly, [first, unused, count - 1])
    time = trace.time
    if time is None or time[-1] <= time[0]:
        return Marks(np.unique(chosen), unused, np.empty(0), np.empty(0), first)
    pauses = np.append(np.diff(time), 0)
    few = min(_PAUSES, count)
    event = np.unique(np.append(chosen, np.argpartition(-pauses, few - 1)[:few]))
    span = np.diff(time[event], prepend=time[0]).astype(np.float64)
    return Marks(event, unused, pauses[event].astype(np.float64), span, first)


def shifted(marks: Marks, every: int, objects: int) -> NDArray[np.int64]:
    """Return the marks in a trace with one event added before each `every`-th event.

    Counting starts after the allocations of the `objects` that were live at the start.
    """
    event = marks.event
    return event + np.maximum(event - objects, 0) // every if every else event


def live_of(trace: Trace, marks: Marks) -> Mapping[Moment, float]:
    """Return the live bytes at the moments that do not depend on the setting.

    The peak depends on the setting. The mean is over time, or over events without times.
    """
    live = trace.replayed.live
    if not len(live):
        return dict.fromkeys((Moment.UNUSED, Moment.MEAN), 0.0)
    if trace.time is not None and marks.has_times:
        mean = np.average(live[:-1], weights=np.diff(trace.time))
    else:
        mean = live[marks.first :].mean()
    return {Moment.UNUSED: float(live[marks.unused]), Moment.MEAN: float(mean)}


def estimated_live(run: Run, marks: Marks) -> Mapping[Moment, float]:
    """Return what `live_of` returns, estimated from the timeline of a run, over events."""
    line = run.timeline
    first = min(marks.first // line.interval, max(len(line.live_low) - 1, 0))
    live = line.live_low[first:] + line.live_high[first:]
    return {
        Moment.UNUSED: float(line.live_low[marks.unused // line.interval]),
        Moment.MEAN: float(live.mean() / 2),
    }


def moments_of(marked: Marked, marks: Marks, library: int) -> Mapping[Moment, float]:
    """Return the resident bytes at each moment, including the malloc's library."""
    resident = marked.run.resident
    assert resident is not None, "the run was simulated with resident=True"
    if not len(marks.event):
        return dict.fromkeys(Moment, float(library))
    unused = marked.resident[int(np.searchsorted(marks.event, marks.unused))]
    return {
        Moment.PEAK: resident.peak_bytes + library,
        Moment.UNUSED: float(unused) + library,
        Moment.MEAN: _mean(marked, marks) + library,
    }


def _mean(marked: Marked, marks: Marks) -> float:
    """Return the mean resident bytes over time, or over events without times.

    The resident bytes at a mark are weighted with the pause after it. The remaining time until the
    next mark is weighted with the mean over the events.
    """
    resident = marked.run.resident
    assert resident is not None, "the run was simulated with resident=True"
    if not marks.has_times:
        return _mean_over_events(marked, marks, resident.mean_bytes)
    counts = np.diff(marks.event, prepend=-1)
    means = np.diff(marked.sums, prepend=0.0) / counts
    before = np.concatenate([[0.0], marks.pause[:-1]])
    held = np.concatenate([[0.0], marked.resident[:-1]])
    total = (means * (marks.span - before) + held * before).sum()
    return float(total / marks.span.sum())


def _mean_over_events(marked: Marked, marks: Marks, of_all: float) -> float:
    """Return the mean resident bytes over the events after the start."""
    if not marks.first:
        return of_all
    before = int(np.searchsorted(marks.event, marks.first))
    events = int(marks.event[-1]) - marks.first
    return float((marked.sums[-1] - marked.sums[before]) / events) if events else of_all
