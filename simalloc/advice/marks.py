"""Replays that measure the resident bytes after chosen events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from threading import Event, Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import Run
from simalloc.heap.needed import require_for
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay, run_of, strides
from simalloc.heap.watch.each_event import Sight
from simalloc.machine import core_count
from simalloc.trace.at_start import live_at_start
from simalloc.waiting import completed

_WATCHED: Final = 1 << 19
"""Maximum number of events that are examined one by one in `max_unused`."""


@dataclass(frozen=True, eq=False)
class Marked:
    """A run, the resident bytes after each mark, and their sum over events up to each mark."""

    run: Run
    resident: NDArray[np.float64]
    sums: NDArray[np.float64]


def replay_marked(
    settings: Sequence[Setting],
    marks: Sequence[NDArray[np.int64]],
    progress: Callable[[int], None] | None = None,
) -> list[Marked]:
    """Replay settings on all cores, and measure the resident bytes at the marks of each setting.

    The marks of a setting are numbers of events in ascending order. Ctrl-C stops all replays within
    a stride. `progress` is called, by one thread at a time, with the number of events done since
    its last call.
    """
    stopped, lock = Event(), Lock()

    def report(events: int) -> None:
        if progress is not None:
            with lock:
                progress(events)

    workers = min(core_count(), max(len(settings), 1))
    require_for(settings, at_once=workers)
    with ThreadPoolExecutor(workers) as pool:
        try:
            waiting = [
                pool.submit(_replay, setting, some, report, stopped)
                for setting, some in zip(settings, marks, strict=True)
            ]
            for each in completed(waiting):
                each.result()
        finally:
            stopped.set()
    return [each.result() for each in waiting]


def _replay(
    setting: Setting,
    marks: NDArray[np.int64],
    progress: Callable[[int], None],
    stopped: Event,
) -> Marked:
    simulation = setting.simulation()
    resident, sums = np.zeros(len(marks)), np.zeros(len(marks))
    done, next_mark = 0, 0
    with closing(strides(setting.source, setting.columns, setting.policy)) as parts:
        for part in parts:
            if stopped.is_set():
                break
            start, end = 0, len(part.op)
            while next_mark < len(marks) and marks[next_mark] < done + end:
                stop = int(marks[next_mark]) + 1 - done
                replay(simulation, part.part(start, stop))
                series = simulation.figures()["series"][0]
                resident[next_mark] = series["final"] / setting.scale
                sums[next_mark] = series["sum"]
                start, next_mark = stop, next_mark + 1
            replay(simulation, part.part(start, end))
            done += end
            progress(end)
    return Marked(run_of(simulation, setting), resident, sums)


def unused_by_interval(run: Run, *, whole: bool = False) -> NDArray[np.float64]:
    """Return the maximum of the unused bytes (resident but not live) in each timeline interval.

    The value is -infinity for intervals that end before all objects of the start are live. With
    `whole`, it is also -infinity for intervals that begin before that event, except the last
    interval.
    """
    line = run.resident.timeline if run.resident is not None else run.timeline
    unused: NDArray[np.float64] = line.heap_high - line.live_low
    last = run.live_at_start.last_event
    first = -(-last // line.interval) if whole else last // line.interval
    unused[: min(first, len(unused) - 1)] = -np.inf
    return unused


def max_unused(setting: Setting, run: Run, progress: Callable[[int], None]) -> int:
    """Return the event of a run with the most unused bytes (resident but not live).

    Events before all objects of the start are live are skipped. If the timeline has intervals of
    several events, the trace is replayed again, and the events in the intervals with the highest
    maxima are examined. The result is -1 for an empty trace.
    """
    line = run.resident.timeline if run.resident is not None else run.timeline
    if not len(line.heap_high):
        return -1
    unused = unused_by_interval(run)
    if line.interval == 1:
        return int(np.argmax(unused))
    chosen = np.argsort(-unused, kind="stable")
    chosen = np.sort(chosen[: max(1, _WATCHED // line.interval)])
    return _max_unused_in(setting, chosen * line.interval, line.interval, progress)


def _max_unused_in(
    setting: Setting,
    starts: NDArray[np.int64],
    length: int,
    progress: Callable[[int], None],
) -> int:
    """Return the event with the most unused bytes in intervals of `length` events at `starts`."""
    simulation = setting.simulation()
    begun = live_at_start(setting.source.provenance).last_event
    wanted = set(starts.tolist())
    best, found, done = -np.inf, 0, 0
    with closing(strides(setting.source, setting.columns, setting.policy)) as parts:
        for part in parts:
            end = len(part.op)
            edges = np.arange(-(-done // length) * length, done + end, length) - done
            for first, last in zip([0, *edges.tolist()], [*edges.tolist(), end], strict=True):
                some = part.part(first, last)
                if (done + first) // length * length not in wanted or not len(some.op):
                    replay(simulation, some)
                    continue
                sight = Sight.empty(len(some.op))
                columns = sight._asdict()
                replay(simulation, some, columns.pop("address"), columns)
                unused = sight.resident / setting.scale - sight.live
                unused[: max(0, min(begun - done - first, len(unused)))] = -np.inf
                if unused.max() > best:
                    best, found = float(unused.max()), done + first + int(np.argmax(unused))
            done += end
            progress(end)
    return found
