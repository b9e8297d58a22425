"""The stays of objects at their addresses: the rectangles of a heap map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import Run
from simalloc.measure.watch import watch
from simalloc.trace import EventSource
from simalloc.trace.source import numbers_at
from simalloc.trace.statistics import Ended


@dataclass(frozen=True, eq=False)
class Stays:
    """Objects at one address with one size; every int64 array has one entry per stay."""

    object: NDArray[np.int64]
    placed: NDArray[np.int64]
    """Address in scaled bytes."""
    scale: int
    requested: NDArray[np.int64]
    birth: NDArray[np.int64]
    """Event that placed the object at this address.

    It precedes `since` if a realloc kept the address.
    """
    since: NDArray[np.int64]
    """Event that placed the object or gave it its size."""
    until: NDArray[np.int64]
    """Event that ended the stay, or the number of events if none did."""

    def __len__(self) -> int:
        return len(self.object)

    def first(self, count: int) -> Stays:
        """Return the first stays, at most `count`."""
        return self.taken(slice(count))

    def taken(self, places: slice | NDArray[np.int64]) -> Stays:
        """Return the stays at some positions, in their order."""
        columns = (self.object, self.placed, self.requested, self.birth, self.since, self.until)
        number, placed, requested, birth, since, until = (column[places] for column in columns)
        return Stays(number, placed, self.scale, requested, birth, since, until)

    @property
    def address(self) -> NDArray[np.float64]:
        """Address in bytes of the program."""
        return self.placed / self.scale


def stays_of(source: EventSource, run: Run) -> Stays:
    """Return all stays of a run, in the order in which they end.

    The trace is replayed unless the run was made with `addresses=True`. Raises `SimallocError` if
    the run is not the trace's.
    """
    everything = _Everything()
    watch(source, run, [everything])
    return stays_of_rows(source, run, everything.rows())


def rows_of(stays: Ended) -> NDArray[np.int64]:
    """Return scaled address, size, birth, begin and end of each stay: (5, stays)."""
    return np.stack((stays.mark, stays.size, stays.marked, stays.born, stays.died))


def stays_of_rows(source: EventSource, run: Run, rows: NDArray[np.int64]) -> Stays:
    """Return the stays of rows from `rows_of`. The source provides their objects' numbers."""
    address, size, birth, since, until = rows
    return Stays(numbers_at(source, since), address, run.scale, size, birth, since, until)


class _Everything:
    """A watcher that keeps all stays of a run."""

    def __init__(self) -> None:
        self._rows = [np.empty((5, 0), np.int64)]

    def see(self, stays: Ended) -> None:
        """Keep the next stays."""
        self._rows.append(rows_of(stays))

    def rows(self) -> NDArray[np.int64]:
        """Return the rows of all stays in the order in which they end."""
        return np.concatenate(self._rows, axis=1)
