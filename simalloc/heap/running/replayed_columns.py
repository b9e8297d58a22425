"""Optional columns of a trace in the form that the engines need: dense threads and a clock.

A log may number threads by any value below 2^32, such as the system's thread ids, but an engine's
tables are as long as the largest number. A log's times may be negative, or run backwards where the
threads are interleaved, but an engine's clock begins at 0 and never runs backwards.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import closing
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace import EventSource, ReplayedEvents

_ROOM: Final = 64
"""A trace keeps its thread numbers if the maximum is below this number times the thread count."""


def sparse_numbers(source: EventSource) -> NDArray[np.int64] | None:
    """Return the numbers of a trace's threads and 0, in order, if most numbers are unused.

    A thread's index in the result is its dense number. Thread 0 stays thread 0, and the order of
    the threads stays. The result is None if the trace's numbers are dense.
    """
    numbers = source.thread_numbers | {0}
    if max(numbers) < _ROOM * len(numbers):
        return None
    return np.array(sorted(numbers), np.int64)


def dense_threads(source: EventSource, count: int) -> list[int]:
    """Return the dense numbers of threads 0 to `count` - 1. Threads missing in the trace follow."""
    numbers = sparse_numbers(source)
    if numbers is None:
        return list(range(count))
    missing = [number for number in range(count) if number not in numbers]
    place = {int(number): at for at, number in enumerate((*numbers, *missing))}
    return [place[number] for number in range(count)]


def clock(time: NDArray[np.int64], latest: int = 0) -> NDArray[np.int64]:
    """Return times that never run backwards: an earlier time becomes the latest time so far.

    `latest` is the latest time of the previous events, or 0 for the first events.
    """
    times: NDArray[np.int64] = np.maximum(np.maximum.accumulate(time), latest)
    return times


def replayed_parts(source: EventSource, columns: Collection[str]) -> Generator[ReplayedEvents]:
    """Yield a trace's events with the named optional columns, in the form that the engines need."""
    numbers = sparse_numbers(source) if "thread" in columns else None
    latest = 0
    with closing(source.replayed_parts(columns)) as parts:
        for part in parts:
            changed: dict[str, NDArray[Any]] = {}
            if numbers is not None and "thread" in part.columns:
                dense = np.searchsorted(numbers, part.columns["thread"])
                changed["thread"] = dense.astype(np.uint32)
            if "time" in part.columns and len(part.op):
                changed["time"] = clock(part.columns["time"], latest)
                latest = int(changed["time"][-1])
            yield part._replace(columns={**part.columns, **changed}) if changed else part
