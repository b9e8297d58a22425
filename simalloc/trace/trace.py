"""What a program asked of malloc: a sequence of events on numbered objects."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from simalloc.errors import TraceError
from simalloc.trace._native import LiveTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

MAX_SIZE: Final = 1 << 47
"""The largest request in bytes: the user half of a 48-bit address space."""

OPTIONAL_COLUMNS: Final[dict[str, np.dtype[Any]]] = {
    "alignment": np.dtype(np.int64),
    "thread": np.dtype(np.uint32),
    "time": np.dtype(np.int64),
    "site": np.dtype(np.uint32),
}
"""Columns that only some logs have: bytes asked for (0: none), thread number, nanoseconds since
the start, call-site number."""


class Op(IntEnum):
    """What an event does to its object."""

    MALLOC = 0
    FREE = 1
    REALLOC = 2


@dataclass(frozen=True, eq=False)
class Trace:
    """An immutable allocation trace, valid by construction (use `Trace.from_events`).

    Objects are numbered 0, 1, 2 ... in the order of their malloc events. Every column has one entry
    an event: `op` (uint8, see `Op`), `object` (int64), `size` (int64, bytes requested; 0 for a
    free), `slot` (uint32) and, where the log has them, `alignment`, `thread`, `time` and `site`.

    `slot` numbers the object among those live at the same time: a malloc takes the slot freed last
    or else a new one. `slots` of them, the most that are ever live at once, are enough to replay.
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
        """Validate a sequence of events and make a trace of it.

        `op`, `object` and `size` are one-dimensional and of equal length; `columns` may hold
        `alignment`, `thread`, `time` and `site`. The objects' numbers may be any int64 that is
        unique among live objects: they are renumbered in allocation order.

        Raises `TraceError`, naming the event, for a free or realloc of an object that is not live,
        a malloc of one that is, a size that is negative or above `MAX_SIZE`, or an unknown op.
        """
        ops = _column(op, np.dtype(np.uint8), "op")
        keys = _column(object, np.dtype(np.int64), "object", len(ops))
        sizes = _column(size, np.dtype(np.int64), "size", len(ops))
        sizes[ops == Op.FREE] = 0  # some logs repeat the object's size here
        objects = np.empty(len(ops), np.int64)
        slots = np.empty(len(ops), np.uint32)
        table = LiveTable()
        enter(table, ops, keys, sizes, objects, slots)
        optional: dict[str, Any] = {}
        for key, values in columns.items():
            if key not in OPTIONAL_COLUMNS:
                raise TypeError(f"a trace has no column {key!r}")
            if values is not None:
                optional[key] = _column(values, OPTIONAL_COLUMNS[key], key, len(ops))
        for column in (ops, objects, sizes, slots, *optional.values()):
            column.flags.writeable = False
        return cls(
            ops,
            objects,
            sizes,
            slots,
            slots=table.slots,
            objects=table.objects,
            name=name,
            provenance=dict(provenance or {}),
            **optional,
        )

    def __len__(self) -> int:
        return len(self.op)

    def __repr__(self) -> str:
        return f"<Trace {self.name}: {len(self):,} events on {self.objects:,} objects>"

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The optional columns that this trace has, by name."""
        present = {name: getattr(self, name) for name in OPTIONAL_COLUMNS}
        return {name: values for name, values in present.items() if values is not None}

    def sha256(self) -> str:
        """Return the SHA-256 of the events, in hexadecimal: the trace's identity.

        The digest runs over op (uint8), object (int64) and size (int64), each whole and
        little-endian, in this order. Names, provenance and optional columns do not count.
        """
        digest = hashlib.sha256()
        for column, dtype in ((self.op, "u1"), (self.object, "<i8"), (self.size, "<i8")):
            digest.update(np.ascontiguousarray(column, dtype).data)
        return digest.hexdigest()

    def prefix(self, events: int) -> Trace:
        """Return the trace's first `events` events as a trace of its own."""
        return Trace.from_events(
            self.op[:events],
            self.object[:events],
            self.size[:events],
            name=self.name,
            provenance={**self.provenance, "prefix": events},
            **{name: values[:events] for name, values in self.columns.items()},
        )


def enter(
    table: LiveTable,
    op: NDArray[np.uint8],
    key: NDArray[np.int64],
    size: NDArray[np.int64],
    objects: NDArray[np.int64],
    slots: NDArray[np.uint32],
    first_event: int = 0,
) -> None:
    """Check a run of events against the objects live so far, and number objects and slots.

    `table` carries what is live from one run to the next; `objects` and `slots` are filled.
    `key` identifies an object among the live ones. `first_event` is the number of the run's first
    event, for messages. Raises `TraceError` at the first event that is not valid; the table is
    then as it was just before that event.
    """
    done, reason = table.enter(op, key, size, objects, slots)
    if done < len(op):
        text = _REASONS[reason].format(key=int(key[done]), size=int(size[done]), op=int(op[done]))
        raise TraceError(text, event=first_event + done)


# Indexed by the codes that LiveTable.enter answers (native/live_table.h).
_REASONS = (
    "valid",
    "op {op} is none of malloc (0), free (1), realloc (2)",
    "frees object {key}, which is not live: it is unknown or was freed before",
    "reallocates object {key}, which is not live: it is unknown or was freed before",
    "allocates object {key}, which is still live: its free is missing",
    f"asks for {{size}} bytes; a size lies between 0 and {MAX_SIZE}",
    "more than 2**32 - 2 objects are live at once",
)


def _column(
    values: ArrayLike, dtype: np.dtype[Any], name: str, length: int | None = None
) -> NDArray[Any]:
    given = np.asarray(values)
    if given.ndim != 1 or (length is not None and len(given) != length):
        raise TraceError(f"column {name} has shape {given.shape}, not ({length or 'events'},)")
    if given.size and given.dtype.kind not in "iu":
        raise TraceError(f"column {name} holds {given.dtype}, not whole numbers")
    column = np.array(given, dtype)
    if given.dtype != dtype and not np.array_equal(column, given):
        raise TraceError(f"column {name} holds numbers that do not fit {dtype}")
    return column
