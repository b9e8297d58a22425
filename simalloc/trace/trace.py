"""A program's requests to malloc: a sequence of events on numbered objects."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simalloc.extras import pandas
from simalloc.plural import counted
from simalloc.printable import printable
from simalloc.shown import ShownAsTable
from simalloc.trace._c import LiveTable, live_bytes
from simalloc.trace.chunk import CHUNK_EVENTS, pack
from simalloc.trace.digests import Digests, Identity
from simalloc.trace.events import (
    OPTIONAL_COLUMNS,
    Op,
    allocates,
    as_column,
    begins,
    enter,
    optional_columns,
)
from simalloc.trace.optional import Clock, pack_column
from simalloc.trace.provenance import check_provenance
from simalloc.trace.shapes import CheckedEvents, ReplayedEvents, empty_spans
from simalloc.trace.source import thread_numbers_in

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Trace(ShownAsTable):
    """An immutable allocation trace, valid by construction (use `Trace.from_events`).

    Every column is an array with one entry per event. A column that the log lacks is None.

    Attributes
    ----------
    op : array of uint8
        Kind of event (see `Op`).
    object : array of int64
        Number of the object: 0, 1, 2 ... in the order of allocation; -1 for an event without an
        object.
    size : array of int64
        Requested bytes; 0 for an event without a request.
    slot : array of uint32
        Number of the object among simultaneously live objects: a malloc takes the slot that was
        freed last, or a new slot.
    slots : int
        Number of slots: the maximum number of simultaneously live objects.
    objects : int
        Number of objects.
    alignment : array of int64, optional
        Requested alignment in bytes; 0 for none.
    thread : array of uint32, optional
        Number of the event's thread.
    time : array of int64, optional
        Time of the event, as logged.
    site : array of uint32, optional
        Number of the place in the program; 0 if unknown. `provenance` may name the sites.
    stream, pool : array of uint32, optional
        Stream and pool of an event in a device's memory.
    unwritten : array of int64, optional
        Bytes of the object, in whole pages, that were never written.
    name : str
        Name in tables and pictures.
    provenance : mapping
        Origin of the trace (docs/trace-format.md).

    Examples
    --------
    >>> simalloc.Trace.from_events(op=[0, 1], object=[7, 7], size=[100, 0])
    """

    op: NDArray[np.uint8]
    object: NDArray[np.int64]
    size: NDArray[np.int64]
    slot: NDArray[np.uint32]
    slots: int
    objects: int
    alignment: NDArray[np.int64] | None = None
    thread: NDArray[np.uint32] | None = None
    time: NDArray[np.int64] | None = None
    site: NDArray[np.uint32] | None = None
    stream: NDArray[np.uint32] | None = None
    pool: NDArray[np.uint32] | None = None
    unwritten: NDArray[np.int64] | None = None
    name: str = "trace"
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_events(
        cls,
        op: ArrayLike,
        object: ArrayLike,  # noqa: A002 - the field's own word for it
        size: ArrayLike,
        *,
        name: str = "trace",
        provenance: Mapping[str, Any] | None = None,
        **columns: ArrayLike | None,
    ) -> Trace:
        """Validate a sequence of events and convert it to a trace.

        `op`, `object` and `size` are one-dimensional and of equal length. `columns` may contain
        `alignment`, `thread`, `time`, `site`, `stream`, `pool` and `unwritten`. The number of an
        object may be any int64 that is unique among live objects. Objects are renumbered in
        allocation order.

        Raises `TraceError`, naming the event, for a free or realloc of an object that is not live,
        a malloc of an object that is already live, a size that is negative or above `MAX_SIZE`, or
        an unknown op. Also raises `TraceError` for a `provenance` that simalloc cannot read
        (docs/trace-format.md).
        """
        check_provenance(provenance or {})
        ops = as_column(op, np.dtype(np.uint8), "op")
        keys = as_column(object, np.dtype(np.int64), "object", len(ops))
        sizes = as_column(size, np.dtype(np.int64), "size", len(ops))
        sizes[~allocates(ops)] = 0  # some logs repeat the object's size here
        objects = np.empty(len(ops), np.int64)
        slots = np.empty(len(ops), np.uint32)
        table = LiveTable()
        enter(table, ops, keys, sizes, objects, slots)
        checked = CheckedEvents(ops, objects, sizes, slots, optional_columns(columns, len(ops)))
        return cls.of_checked(
            checked,
            slots=table.slots,
            objects=table.objects,
            name=name,
            provenance=provenance or {},
        )

    @classmethod
    def of_checked(
        cls,
        events: CheckedEvents,
        *,
        slots: int,
        objects: int,
        name: str,
        provenance: Mapping[str, Any],
    ) -> Trace:
        """Return checked and numbered events as a trace; the events become immutable."""
        columns: list[NDArray[Any]] = [events.op, events.object, events.size, events.slot]
        for column in columns + list(events.columns.values()):
            column.flags.writeable = False
        return cls(
            events.op,
            events.object,
            events.size,
            events.slot,
            slots=slots,
            objects=objects,
            name=name,
            provenance=dict(provenance),
            **events.columns,
        )

    def __len__(self) -> int:
        return len(self.op)

    def __eq__(self, other: Any) -> bool:  # noqa: PYI032 - `object` is a column here
        """Compare events and optional columns; names and provenance are ignored."""
        if not isinstance(other, Trace):
            return NotImplemented
        mine, others = self._compared(), other._compared()
        return mine.keys() == others.keys() and all(
            np.array_equal(values, others[name]) for name, values in mine.items()
        )

    def __hash__(self) -> int:
        return hash((len(self), self.objects, self.slots))

    def _compared(self) -> dict[str, NDArray[Any]]:
        return {"op": self.op, "object": self.object, "size": self.size, **self.columns}

    def __getstate__(self) -> dict[str, Any]:
        """Return only the fields: properties that are computed from them can be computed again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(state, provenance=dict(state["provenance"]))

    def to_pandas(self) -> pd.DataFrame:
        """Return the events as a data frame with one row per event.

        Returns
        -------
        pandas.DataFrame
            Columns `op` (the name of the operation), `object`, `size` (requested bytes; 0 for a
            free), and the trace's optional columns. The index is the number of the event, from 0.

        Raises
        ------
        SimallocError
            If pandas is not installed (the `frame` extra).

        """
        names = np.array([op.name.lower().replace("_", "-") for op in Op], dtype=object)
        columns = {"op": names[self.op], "object": self.object, "size": self.size}
        frame: pd.DataFrame = pandas().DataFrame({**columns, **self.columns})
        return frame

    def __repr__(self) -> str:
        events, objects = counted(len(self), "event"), counted(self.objects, "object")
        return printable(f"<Trace {self.name}: {events} on {objects}>")

    @property
    def is_of_device(self) -> bool:
        """True for a trace of a device's memory: it has streams, pools, or a device."""
        is_marked = self.stream is not None or self.pool is not None or "device" in self.provenance
        return is_marked or bool((self.op == Op.USE).any())

    @cached_property
    def thread_numbers(self) -> frozenset[int]:
        """The numbers of the events' threads, or an empty set if threads are not recorded."""
        return thread_numbers_in(self.chunks())

    @property
    def threads(self) -> int:
        """Number of threads of the events; 1 if the trace does not record threads."""
        return max(1, len(self.thread_numbers))

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The optional columns that this trace has, by name."""
        present = {name: getattr(self, name) for name in OPTIONAL_COLUMNS}
        return {name: values for name, values in present.items() if values is not None}

    @property
    def max_live_bytes(self) -> int:
        """Maximum live bytes after any event."""
        return int(self.replayed.live.max(initial=0))

    @property
    def allocated_bytes(self) -> int:
        """Total of the requested bytes."""
        return int(self.size.sum())

    @cached_property
    def replayed(self) -> ReplayedEvents:
        """All events, which share this trace's memory, and the live bytes after each event.

        The live bytes take 8 bytes per event.
        """
        live = np.empty(len(self), np.int64)
        live_bytes(self.op, self.size, self.slot, live, np.zeros(self.slots, np.int64))
        found = ReplayedEvents(self.op, self.size, self.slot, live, empty_spans(0)).summed_up()
        found.live.flags.writeable = found.spans.flags.writeable = False
        return found

    def replayed_parts(self, columns: Collection[str] = ()) -> Generator[ReplayedEvents]:
        """Yield the events, at most 2**20 at a time. They share this trace's memory.

        `columns` names the requested optional columns. Columns that the trace lacks are omitted.
        """
        wanted = {name: values for name, values in self.columns.items() if name in columns}
        whole = self.replayed._replace(columns=wanted)
        for start in range(0, len(self), CHUNK_EVENTS):
            yield whole.part(start, start + CHUNK_EVENTS)

    def chunks(self) -> Generator[CheckedEvents]:
        """Yield all events at once. They share this trace's memory."""
        yield CheckedEvents(self.op, self.object, self.size, self.slot, self.columns)

    def in_memory(self) -> Trace:
        """Return this trace."""
        return self

    def sha256(self) -> str:
        """Return the SHA-256 of the events, in hexadecimal: the trace's identity.

        The digest covers op, object and size as a trace file packs them (docs/trace-format.md). It
        does not cover names, provenance and optional columns.
        """
        return self.digest(())

    def digest(self, columns: Collection[str]) -> str:
        """Return a SHA-256 of the events and of some optional columns, in hexadecimal.

        The digest identifies all input of a policy that uses these columns. Columns that the trace
        lacks are ignored.
        """
        return self.identity.digest(columns)

    @cached_property
    def identity(self) -> Identity:
        """The digests of the events and of each optional column."""
        digests, clock, allocated = Digests(self.columns), Clock(), 0
        for start in range(0, len(self), CHUNK_EVENTS):
            part = slice(start, start + CHUNK_EVENTS)
            packed = pack(self.op[part], self.object[part], self.size[part], allocated)
            columns = {
                name: pack_column(name, column[part], clock)
                for name, column in self.columns.items()
            }
            digests.update(packed, columns)
            allocated += int(np.count_nonzero(begins(self.op[part])))
        return digests.identity

    def renamed(self, name: str) -> Trace:
        """Return the same trace with another name."""
        return replace(self, name=name)

    def prefix(self, events: int) -> Trace:
        """Return the trace's first `events` events as a new trace.

        Raises `ValueError` if `events` is negative.
        """
        if events < 0:
            raise ValueError(f"events is {events}; use 0 or more")
        return Trace.from_events(
            self.op[:events],
            self.object[:events],
            self.size[:events],
            name=self.name,
            provenance={**self.provenance, "prefix": events},
            **{name: values[:events] for name, values in self.columns.items()},
        )
