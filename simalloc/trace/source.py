"""What can be replayed: a trace in memory, or one in a file that is read as it is replayed."""

from __future__ import annotations

from contextlib import closing
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from simalloc.trace._native import live_spans
from simalloc.trace.memory import borrow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from simalloc.trace.digests import Identity
    from simalloc.trace.trace import Trace

BYTES_AN_EVENT: Final = 21
"""What the columns of a stretch take."""

SPAN_EVENTS: Final = 256
"""The events of a span (native/live_span.h)."""
_SPAN_BYTES: Final = 48


class Stretch(NamedTuple):
    """A run of events, in what a replay needs of them.

    `op`, `size` and `slot` are as in `Trace`. The other two do not depend on the policy, and are
    found once for all of them: `live` (int64) has the bytes live after each event, and `spans` what
    is measured of each 256 events from the first on, of as many as are known. `columns` has the
    optional columns that were asked for, without those in which there is nothing but 0.
    """

    op: NDArray[np.uint8]
    size: NDArray[np.int64]
    slot: NDArray[np.uint32]
    live: NDArray[np.int64]
    spans: NDArray[np.void]
    columns: Mapping[str, NDArray[Any]] = MappingProxyType({})

    @classmethod
    def empty(cls, events: int) -> Stretch:
        """Return a stretch whose columns are still to be filled, without spans."""
        memory = borrow(events * BYTES_AN_EVENT)
        sizes, lives, slots, ops = np.split(memory, (8 * events, 16 * events, 20 * events))
        return cls(
            ops, sizes.view(np.int64), slots.view(np.uint32), lives.view(np.int64), empty_spans(0)
        )

    def with_columns(self, columns: Mapping[str, NDArray[Any]]) -> Stretch:
        """Return the same events with those of these optional columns that hold more than 0."""
        return self._replace(
            columns={name: values for name, values in columns.items() if values.any()}
        )

    def summed_up(self) -> Stretch:
        """Return the same events with all their spans."""
        spans = empty_spans(len(self.op) // SPAN_EVENTS)
        live_spans(self.live, self.size, spans)
        return self._replace(spans=spans)

    def part(self, start: int, stop: int) -> Stretch:
        """Return the events from `start` to before `stop`, sharing this stretch's memory."""
        part = slice(start, stop)
        first_span = start // SPAN_EVENTS if start % SPAN_EVENTS == 0 else len(self.spans)
        return Stretch(
            self.op[part],
            self.size[part],
            self.slot[part],
            self.live[part],
            self.spans[first_span : stop // SPAN_EVENTS],
            {name: values[part] for name, values in self.columns.items()},
        )


def empty_spans(count: int) -> NDArray[np.void]:
    """Return so many spans to be filled."""
    return np.empty(count, f"V{_SPAN_BYTES}")


class ReplayedColumns(Protocol):
    """A run of events in columns, an entry an event, as in `Trace`: what a replay needs of them."""

    @property
    def op(self) -> NDArray[np.uint8]:
        """What each event does (`Op`)."""

    @property
    def size(self) -> NDArray[np.int64]:
        """Bytes requested."""

    @property
    def slot(self) -> NDArray[np.uint32]:
        """Where the object is among those live at once."""

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """The optional columns, by name."""


class Columns(ReplayedColumns, Protocol):
    """A run of events in columns with all that a trace has."""

    @property
    def object(self) -> NDArray[np.int64]:
        """The number of the object."""


class EventSource(Protocol):
    """A `Trace`, or a `TraceFile`; its length is the number of events."""

    @property
    def name(self) -> str:
        """What the trace is called."""

    @property
    def objects(self) -> int:
        """How many objects are allocated in all."""

    @property
    def slots(self) -> int:
        """How many are live at once at most."""

    @property
    def allocated_bytes(self) -> int:
        """Bytes requested in all."""

    @property
    def is_of_device(self) -> bool:
        """Whether it tells of a device's memory."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Where the trace comes from."""

    @property
    def threads(self) -> int:
        """How many threads its events are of; 1 if it does not tell."""

    def __len__(self) -> int: ...

    def stretches(self, columns: Collection[str] = ()) -> Generator[Stretch]:
        """Yield all events from the first on, at most 2**20 at a time; may be called again.

        `columns` names the optional columns that are wanted, if the trace has them.
        """

    def chunks(self) -> Generator[Columns]:
        """Yield all events from the first on with all their columns; may be called again."""

    def in_memory(self) -> Trace:
        """Return the whole trace."""

    def prefix(self, events: int) -> Trace:
        """Return the first `events` events, or all if there are no more."""

    @property
    def identity(self) -> Identity:
        """The digests of the events and of each optional column."""

    def sha256(self) -> str:
        """Return the SHA-256 of the events, in hexadecimal."""

    def digest(self, columns: Collection[str]) -> str:
        """Return a SHA-256 of the events and of some optional columns, in hexadecimal."""

    def renamed(self, name: str) -> EventSource:
        """Return the same trace under another name."""


def count_threads(chunks: Iterable[ReplayedColumns]) -> int:
    """Return how many threads a run of events is of, piece by piece; 1 if it does not tell."""
    found: set[int] = set()
    for chunk in chunks:
        found.update(np.unique(chunk.columns.get("thread", ())).tolist())
    return max(1, len(found))


def entries_at(source: EventSource, column: str, events: NDArray[np.int64]) -> NDArray[Any] | None:
    """Return what some events have in an optional column; None if the trace does not have it."""
    return _picked(source, events, lambda chunk: chunk.columns.get(column))


def numbers_at(source: EventSource, events: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the objects of some events."""
    numbers = _picked(source, events, lambda chunk: chunk.object)
    return np.empty(0, np.int64) if numbers is None else numbers


def _picked(
    source: EventSource,
    events: NDArray[np.int64],
    column: Callable[[Columns], NDArray[Any] | None],
) -> NDArray[Any] | None:
    """Return what some events have in a column; the trace is read up to the last of them."""
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
