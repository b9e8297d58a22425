"""Reader of a trace of any length: runs of events, and the lives that end in each run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simalloc.memory import require_memory
from simalloc.plural import counted
from simalloc.trace._c import Lives as LifeTable
from simalloc.trace.shapes import ReplayedEvents

PART_EVENTS: Final = 1 << 16
"""Maximum number of events processed at once, so that their data stays in the processor's
caches."""

_ENDED: Final = np.dtype(
    [
        (name, np.int64)
        for name in ("born", "died", "size", "birth", "death", "length", "mark", "marked")
    ]
)
_COMPLETED: Final = np.dtype([(name, np.int64) for name in ("wait", "size")])
_COMPLETED_AN_EVENT: Final = 3
_OBJECT_BYTES: Final = 130
"""Resident bytes per simultaneously live object, including its decoding."""


class Ended(NamedTuple):
    """Lives that have ended, in the order of their deaths. Each field is an int64 array.

    `born` and `died` are events, `birth` and `death` the bytes allocated before them, and `length`
    the number of lives born from the birth (inclusive) until the death. `mark` is the birth event's
    value in the requested column, and `marked` is the event since which a reallocated object has
    had this value.
    """

    born: NDArray[np.int64]
    died: NDArray[np.int64]
    size: NDArray[np.int64]
    birth: NDArray[np.int64]
    death: NDArray[np.int64]
    length: NDArray[np.int64]
    mark: NDArray[np.int64]
    marked: NDArray[np.int64]

    @property
    def lifetime(self) -> NDArray[np.int64]:
        """Bytes allocated from the birth (inclusive) until the death."""
        return self.death - self.birth


class Completed(NamedTuple):
    """Lives that have ended and whose temporal neighbours have ended. Each field is an int64 array.

    `wait` is the number of bytes allocated from the life's death until the last neighbour's death.
    """

    wait: NDArray[np.int64]
    size: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LifeEvents:
    """A run of a trace's events.

    The last run contains no events and ends objects that are never freed.
    """

    first: int
    """Number of the run's first event."""
    op: NDArray[np.uint8]
    size: NDArray[np.int64]
    mark: NDArray[np.int64] | None
    live: NDArray[np.int64]
    """Live bytes after each event."""
    ended: Ended
    completed: Completed

    @property
    def last(self) -> bool:
        """True after all events."""
        return not len(self.op)

    def __len__(self) -> int:
        return len(self.op)


class Source(Protocol):
    """A source of events, such as an `EventSource`."""

    @property
    def slots(self) -> int:
        """Maximum number of simultaneously live objects."""

    def replayed_parts(self, columns: Collection[str]) -> Iterator[ReplayedEvents]:
        """Yield all events from the first on, with the named optional columns."""


class LifeReader:
    """Reads a trace once. Lives store their value in the column `mark` if the trace has it.

    A realloc ends a life and begins another, as Johnstone and Wilson count. Raises `SimallocError`
    if the simultaneously live objects need more memory than the limit.
    """

    def __init__(
        self, source: Source, mark: str | None = None, part_events: int = PART_EVENTS
    ) -> None:
        objects = counted(source.slots, "object")
        table = f"a table of the lives of {objects} that are live at once"
        require_memory(source.slots * _OBJECT_BYTES, table)
        self._source = source
        self._mark = mark
        self._part_events = part_events
        self._table = LifeTable(source.slots)
        self._ended = np.empty(part_events, _ENDED)
        self._completed = np.empty(_COMPLETED_AN_EVENT * part_events, _COMPLETED)
        self._first = 0

    @property
    def reallocated(self) -> int:
        """Number of objects with at least one realloc so far."""
        return self._table.reallocated

    @property
    def max_reallocs(self) -> int:
        """Maximum number of reallocs of one object so far."""
        return self._table.max_reallocs

    def sums(self) -> tuple[int, int, int]:
        """Return the sums so far of lifetimes, of lifetimes times sizes, and of lengths."""
        lifetimes, weighted, lengths = (high << 64 | low for high, low in self._table.sums())
        return lifetimes, weighted, lengths

    def __iter__(self) -> Iterator[LifeEvents]:
        columns = () if self._mark is None else (self._mark,)
        for part in self._source.replayed_parts(columns):
            for start in range(0, len(part.op), self._part_events):
                yield self._enter(part.part(start, start + self._part_events))
        while True:
            yield (events := self._finish())
            if not len(events.completed.wait):
                break

    def _enter(self, events: ReplayedEvents) -> LifeEvents:
        marks = None if self._mark is None else events.columns.get(self._mark)
        mark = None if marks is None else marks.astype(np.int64)
        counts = self._table.enter(
            events.op, events.size, events.slot, mark, self._ended, self._completed
        )
        return self._life_events(events.op, events.size, mark, events.live, counts)

    def _finish(self) -> LifeEvents:
        most = self._part_events
        counts = self._table.finish(most, self._ended, self._completed)
        none = np.empty(0, np.int64)
        return self._life_events(np.empty(0, np.uint8), none, none, none, counts)

    def _life_events(
        self,
        op: NDArray[np.uint8],
        size: NDArray[np.int64],
        mark: NDArray[np.int64] | None,
        live: NDArray[np.int64],
        counts: tuple[int, int],
    ) -> LifeEvents:
        ended = Ended(*_columns(self._ended[: counts[0]]))
        completed = Completed(*_columns(self._completed[: counts[1]]))
        first = self._first
        self._first += len(op)
        return LifeEvents(first, op, size, mark, live, ended, completed)


def _columns(records: NDArray[np.void]) -> list[NDArray[Any]]:
    """Return the fields of records as separate arrays."""
    assert records.dtype.names is not None
    return [records[name].copy() for name in records.dtype.names]
