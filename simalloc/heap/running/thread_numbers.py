"""Threads numbered densely for the engines, whose tables are as long as the largest number.

A log may number threads by anything below 2^32, such as the system's thread ids.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import closing
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace import EventSource, ReplayedEvents

_ROOM: Final = 64
"""Numbers for each thread up to which a trace keeps its own."""


def sparse_numbers(source: EventSource) -> NDArray[np.int64] | None:
    """Return the numbers of a trace's threads and 0, in order, if most numbers are unused.

    A thread's place among them is its dense number. Thread 0 stays thread 0, and the order of the
    threads stays. None: the trace's own numbers are dense.
    """
    numbers = source.thread_numbers | {0}
    if max(numbers) < _ROOM * len(numbers):
        return None
    return np.array(sorted(numbers), np.int64)


def replayed_parts(source: EventSource, columns: Collection[str]) -> Generator[ReplayedEvents]:
    """Yield the events of a trace with the optional columns named, and threads numbered densely."""
    numbers = sparse_numbers(source) if "thread" in columns else None
    with closing(source.replayed_parts(columns)) as parts:
        for part in parts:
            thread: NDArray[Any] | None = part.columns.get("thread")
            if numbers is None or thread is None:
                yield part
                continue
            dense = np.searchsorted(numbers, thread).astype(np.uint32)
            yield part._replace(columns={**part.columns, "thread": dense})
