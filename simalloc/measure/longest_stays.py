"""The stays that take most of a heap map, found in going through the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simalloc.measure.placements import PlacedEvents
from simalloc.measure.stays import Stays
from simalloc.trace.source import numbers_at
from simalloc.trace.statistics import Passages

if TYPE_CHECKING:
    from collections.abc import Callable

    from simalloc.heap import Run
    from simalloc.trace import EventSource


def longest_stays(
    source: EventSource, run: Run, most: int, *, progress: Callable[[int], None] = lambda _: None
) -> Stays:
    """Return the stays that took most bytes times events, the greatest first.

    The trace is replayed for it, unless the run was made with `addresses=True`. `progress` is
    called with the number of events done since its last call. Raises `SimallocError` if the run is
    not the trace's.
    """
    kept = np.empty((5, 0), np.int64)
    for passage in Passages(PlacedEvents(source, run), "address"):
        ended = passage.ended  # a realloc may move its object, and gives it a new size
        told = np.stack((ended.mark, ended.size, ended.marked, ended.born, ended.died))
        kept = np.concatenate((kept, told), axis=1)
        _, size, _, since, until = kept
        area = (until - since) * np.maximum(size, 1).astype(np.float64)
        kept = kept[:, np.lexsort((since, -area))[:most]]
        progress(len(passage))
    address, size, birth, since, until = kept
    numbers = numbers_at(source, since)
    return Stays(numbers, address, run.scale, size, birth, since, until)
