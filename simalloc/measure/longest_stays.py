"""The stays that cover most of a heap map, found in one pass over the trace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import Run
from simalloc.measure.stays import Stays, rows_of, stays_of_rows
from simalloc.measure.watch import watch
from simalloc.trace import EventSource
from simalloc.trace.statistics import Ended


def longest_stays(
    source: EventSource, run: Run, most: int, *, progress: Callable[[int], None] = lambda _: None
) -> Stays:
    """Return up to `most` stays with the largest product of bytes and events, in descending order.

    The trace is replayed unless the run was made with `addresses=True`. `progress` is called with
    the number of events done since its last call. Raises `SimallocError` if the run is not the
    trace's.
    """
    longest = Longest(run, most)
    watch(source, run, [longest], progress=progress)
    return longest.stays(source)


class Longest:
    """The stays of a run with the largest product of bytes and events, updated as stays end."""

    def __init__(self, run: Run, most: int) -> None:
        self._run = run
        self._max = most
        self._kept = np.empty((5, 0), np.int64)

    def see(self, stays: Ended) -> None:
        """Keep the largest of the next stays."""
        kept = np.concatenate((self._kept, rows_of(stays)), axis=1)
        area = _area(kept)
        if len(area) > self._max:  # sorting all would take longer
            kept = kept[:, area >= np.partition(area, -self._max)[-self._max]]
        self._kept = kept[:, np.lexsort((kept[3], -_area(kept)))[: self._max]]

    def stays(self, source: EventSource) -> Stays:
        """Return the kept stays, the largest first. The source provides their objects' numbers."""
        return stays_of_rows(source, self._run, self._kept)


def _area(rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the product of bytes and events of each stay."""
    _, size, _, since, until = rows
    area: NDArray[np.float64] = (until - since) * np.maximum(size, 1).astype(np.float64)
    return area
