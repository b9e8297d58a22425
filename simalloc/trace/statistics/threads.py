"""The events of each thread of a program, and the live bytes of its objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import allocates
from simalloc.trace.statistics.life_reader import LifeEvents
from simalloc.trace.statistics.liveness import Peak, most_together


@dataclass(frozen=True)
class Thread:
    """Totals of a thread. An object belongs to the thread that last allocated or reallocated it."""

    thread: int
    events: int
    objects: int
    """Objects that the thread allocates, with reallocs counted as new objects."""
    bytes: int
    freed_for_others: int
    """Objects of other threads that the thread frees or reallocates."""
    bytes_freed_for_others: int
    peak_live_bytes: int
    """Maximum total bytes of the thread's live objects."""
    final_live_bytes: int
    first_event: int
    last_event: int


def threads_at_once(threads: Sequence[Thread]) -> Peak:
    """Return the maximum number of threads between their first and last event, and its event."""
    begun = sorted(threads, key=lambda thread: thread.first_event)
    return most_together(
        np.array([thread.first_event for thread in begun], np.int64),
        np.array([thread.last_event + 1 for thread in begun], np.int64),
    )


@dataclass
class _Tally:
    """Counts of a thread so far. Its fields have the same names as in `Thread`."""

    first_event: int
    last_event: int = 0
    events: int = 0
    objects: int = 0
    bytes: int = 0
    freed_for_others: int = 0
    bytes_freed_for_others: int = 0
    peak_live_bytes: int = 0
    final_live_bytes: int = 0


class ThreadCounts:
    """Counts the events and objects of each thread. Lives store the thread of their birth."""

    def __init__(self) -> None:
        self._tallies: dict[int, _Tally] = {}

    def add(self, events: LifeEvents) -> None:
        """Count the next events."""
        if events.last or events.mark is None:
            return
        thread, ended = events.mark, events.ended
        born = np.flatnonzero(allocates(events.op))
        died = ended.died - events.first
        self._see(thread, events.first)
        self._count("objects", thread[born])
        self._count("bytes", thread[born], events.size[born])
        foreign = thread[died] != ended.mark
        self._count("freed_for_others", thread[died][foreign])
        self._count("bytes_freed_for_others", thread[died][foreign], ended.size[foreign])
        self._follow_live(
            np.concatenate([died, born]),  # at one event deaths precede births
            np.concatenate([ended.mark, thread[born]]),
            np.concatenate([-ended.size, events.size[born]]),
        )

    def threads(self) -> tuple[Thread, ...]:
        """Return the statistics of each thread, by number."""
        return tuple(
            Thread(thread, **asdict(self._tallies[thread])) for thread in sorted(self._tallies)
        )

    def _see(self, thread: NDArray[np.int64], first: int) -> None:
        """Count the events of each thread; `first` is the index of the first event."""
        numbers, begins, counts = np.unique(thread, return_index=True, return_counts=True)
        ends = len(thread) - 1 - np.unique(thread[::-1], return_index=True)[1]
        for number, begin, end, count in zip(
            *(values.tolist() for values in (numbers, begins, ends, counts)), strict=True
        ):
            tally = self._tallies.setdefault(number, _Tally(first + begin))
            tally.last_event = first + end
            tally.events += count

    def _count(
        self, what: str, thread: NDArray[np.int64], amount: NDArray[np.int64] | None = None
    ) -> None:
        numbers, place = np.unique(thread, return_inverse=True)
        sums = np.zeros(len(numbers), np.int64)
        np.add.at(sums, place, 1 if amount is None else amount)
        for number, count in zip(numbers.tolist(), sums.tolist(), strict=True):
            tally = self._tallies[number]
            setattr(tally, what, getattr(tally, what) + count)

    def _follow_live(
        self, event: NDArray[np.int64], thread: NDArray[np.int64], change: NDArray[np.int64]
    ) -> None:
        """Track the live bytes of each thread's objects through the changes at some events."""
        order = np.lexsort((event, thread))
        running = np.cumsum(change[order])
        numbers, starts = np.unique(thread[order], return_index=True)
        before = 0
        for number, levels in zip(numbers.tolist(), np.split(running, starts[1:]), strict=False):
            tally = self._tallies[number]
            highest = tally.final_live_bytes + int(levels.max()) - before
            tally.peak_live_bytes = max(tally.peak_live_bytes, highest)
            tally.final_live_bytes += int(levels[-1]) - before
            before = int(levels[-1])
