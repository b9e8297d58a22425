"""Sources of a replay: a trace in memory, or a trace in a file that is read during the replay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.digests import Identity
from simalloc.trace.shapes import CheckedEvents, ReplayedEvents

if TYPE_CHECKING:
    from simalloc.trace.trace import Trace


class EventSource(Protocol):
    """A `Trace` or a `TraceFile`. Its length is the number of events."""

    @property
    def name(self) -> str:
        """Name of the trace."""

    @property
    def objects(self) -> int:
        """Number of allocated objects."""

    @property
    def slots(self) -> int:
        """Maximum number of simultaneously live objects."""

    @property
    def max_live_bytes(self) -> int:
        """Maximum live bytes after any event."""

    @property
    def allocated_bytes(self) -> int:
        """Total of the requested bytes."""

    @property
    def is_of_device(self) -> bool:
        """True for a trace of a device's memory."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Origin of the trace."""

    @property
    def threads(self) -> int:
        """Number of threads of the events; 1 if the trace does not record threads."""

    @property
    def thread_numbers(self) -> frozenset[int]:
        """The numbers of the events' threads, or an empty set if threads are not recorded."""

    def __len__(self) -> int: ...

    def replayed_parts(self, columns: Collection[str] = ()) -> Generator[ReplayedEvents]:
        """Yield all events from the first on, at most 2**20 at a time; may be called again.

        `columns` names the requested optional columns. Columns that the trace lacks are omitted.
        """

    def chunks(self) -> Generator[CheckedEvents]:
        """Yield all events from the first on with all their columns; may be called again."""

    def in_memory(self) -> Trace:
        """Return the whole trace."""

    def prefix(self, events: int) -> Trace:
        """Return the first `events` events, or all events if the trace has fewer."""

    @property
    def identity(self) -> Identity:
        """The digests of the events and of each optional column."""

    def sha256(self) -> str:
        """Return the SHA-256 of the events, in hexadecimal."""

    def digest(self, columns: Collection[str]) -> str:
        """Return a SHA-256 of the events and of some optional columns, in hexadecimal."""

    def renamed(self, name: str) -> EventSource:
        """Return the same trace with another name."""


def thread_numbers_in(chunks: Iterable[CheckedEvents]) -> frozenset[int]:
    """Return the thread numbers in chunks of events, or an empty set if none are recorded."""
    found: set[int] = set()
    for chunk in chunks:
        found.update(np.unique(chunk.columns.get("thread", ())).tolist())
    return frozenset(found)


def entries_at(source: EventSource, column: str, events: NDArray[np.int64]) -> NDArray[Any] | None:
    """Return the values of some events in an optional column, or None if the trace lacks it."""
    return _picked(source, events, lambda chunk: chunk.columns.get(column))


def numbers_at(source: EventSource, events: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the objects of some events."""
    numbers = _picked(source, events, lambda chunk: chunk.object)
    return np.empty(0, np.int64) if numbers is None else numbers


def _picked(
    source: EventSource,
    events: NDArray[np.int64],
    column: Callable[[CheckedEvents], NDArray[Any] | None],
) -> NDArray[Any] | None:
    """Return the values of some events in a column. Events after the last of them are not read."""
    found: NDArray[Any] | None = None
    first, end = 0, int(events.max(initial=-1)) + 1
    with closing(source.chunks()) as chunks:
        for chunk in chunks:
            values = column(chunk)
            if first >= end or values is None:
                break
            found = np.zeros(len(events), values.dtype) if found is None else found
            here = (first <= events) & (events < first + len(values))
            found[here] = values[events[here] - first]
            first += len(values)
    return found
