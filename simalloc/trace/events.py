"""Valid events: the only module that checks the columns of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simalloc.errors import TraceError
from simalloc.trace._c import LiveTable

MAX_SIZE: Final = 1 << 47
"""The largest request in bytes: the user half of a 48-bit address space."""

OPTIONAL_COLUMNS: Final[Mapping[str, np.dtype[Any]]] = {
    "alignment": np.dtype(np.int64),
    "thread": np.dtype(np.uint32),
    "time": np.dtype(np.int64),
    "site": np.dtype(np.uint32),
    "stream": np.dtype(np.uint32),
    "pool": np.dtype(np.uint32),
    "unwritten": np.dtype(np.int64),
}
"""Columns that only some logs have. `alignment` is in bytes (0: none), `thread` is a thread number,
`time` is in nanoseconds since the start, and `site` is a call-site number. For a device's
allocator, `stream` is the stream that requests an object or uses it from now on, and `pool` is the
private pool (0: none). `unwritten` is the number of bytes of the object that the program never
wrote."""

COLUMNS_OF_BYTES: Final = ("alignment", "unwritten")
"""Optional columns whose numbers are between 0 and `MAX_SIZE`."""

DEVICE_COLUMNS: Final = ("stream", "pool")
"""Optional columns that only device allocators use."""

_BYTES_AN_EVENT: Final = 21
"""Bytes in memory of an event's op, object, size and slot."""
_BYTES_TO_REPLAY: Final = 9
"""Further bytes per event of a replayed trace (`Trace.replayed`): slightly more than 8."""


def bytes_in_memory(events: int, columns: Iterable[str], *, replayed: bool = False) -> int:
    """Return the bytes in memory of a trace with `events` events and some optional columns."""
    each = _BYTES_AN_EVENT + sum(OPTIONAL_COLUMNS[name].itemsize for name in columns)
    return events * (each + _BYTES_TO_REPLAY * replayed)


class Op(IntEnum):
    """Operation of an event on its object."""

    MALLOC = 0
    FREE = 1
    REALLOC = 2
    USE = 3
    """The event's stream, another than before, uses the object from now on; heaps ignore the event.
    """
    EMPTY = 4
    """The program empties its allocator's caches. The event has no object (-1, in slot 0)."""
    CALLOC = 5
    """A malloc of zeroed bytes."""
    THREAD_END = 6
    """The event's thread exits. The event has no object (-1, in slot 0)."""


def begins(op: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return a mask of the events that allocate a new object."""
    new: NDArray[np.bool_] = (op == Op.MALLOC) | (op == Op.CALLOC)
    return new


def allocates(op: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return a mask of the events that request bytes."""
    asks: NDArray[np.bool_] = begins(op) | (op == Op.REALLOC)
    return asks


def is_of_none(op: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return a mask of the events without an object."""
    of_none: NDArray[np.bool_] = (op == Op.EMPTY) | (op == Op.THREAD_END)
    return of_none


def enter(
    table: LiveTable,
    op: NDArray[np.uint8],
    key: NDArray[np.int64],
    size: NDArray[np.int64],
    objects: NDArray[np.int64],
    slots: NDArray[np.uint32],
) -> None:
    """Check a run of events against the live objects, and number objects and slots.

    `table` keeps the live objects from one run to the next. `objects` and `slots` are filled. `key`
    identifies an object among the live objects. Raises `TraceError` at the first invalid event; the
    table is then in the state just before that event.
    """
    done, reason = table.enter(op, key, size, objects, slots)
    if done < len(op):
        text = complaint(Reason(reason), int(op[done]), int(key[done]), int(size[done]))
        raise TraceError(text, event=done)


class Reason(IntEnum):
    """Reasons why an event is invalid, as LiveTable.enter returns them (c/live_table.h)."""

    NONE = 0
    OP = 1
    FREE_OF_DEAD = 2
    REALLOC_OF_DEAD = 3
    MALLOC_OF_LIVE = 4
    MOVE_TO_LIVE = 5
    SIZE = 6
    TOO_MANY = 7
    TOTAL = 8
    USE_OF_DEAD = 9


_TEXTS: Final = {
    Reason.OP: "op {op} is unknown; ops are 0 to 6",
    Reason.FREE_OF_DEAD: "frees object {key}, which is not live: unknown or freed before",
    Reason.REALLOC_OF_DEAD: "reallocates object {key}, which is not live: unknown or freed before",
    Reason.USE_OF_DEAD: "another stream uses object {key}, which is not live",
    Reason.MALLOC_OF_LIVE: "allocates object {key}, which is still live: its free is missing",
    Reason.MOVE_TO_LIVE: "moves object {key} onto an object that is still live: a free is missing",
    Reason.SIZE: f"requests {{size}} bytes; sizes are from 0 to {MAX_SIZE}",
    Reason.TOO_MANY: "more than 2**32 - 2 objects are live at once",
    Reason.TOTAL: "more than 2**63 - 1 bytes are allocated in total",
}


def complaint(reason: Reason, op: int, key: int | str, size: int) -> str:
    """Return a message that explains why an event is invalid."""
    return _TEXTS[reason].format(op=op, key=key, size=size)


def optional_columns(columns: Mapping[str, ArrayLike | None], length: int) -> dict[str, Any]:
    """Return the optional columns that are given, as arrays of their dtypes.

    Raises `TraceError` if a column has another length or a number outside its type's range. Also
    raises `TraceError` if an alignment or a number of unwritten bytes is below 0 or above
    `MAX_SIZE`. Raises `TypeError` for a column that no trace has.
    """
    checked = {}
    for name, values in columns.items():
        if name not in OPTIONAL_COLUMNS:
            raise TypeError(f"a trace has no column {name!r}")
        if values is not None:
            checked[name] = as_column(values, OPTIONAL_COLUMNS[name], name, length)
    for name in COLUMNS_OF_BYTES:
        values = checked.get(name, np.empty(0))
        if np.any(values < 0) or np.any(values > MAX_SIZE):
            raise TraceError(f"{name}: values must be from 0 (none) to {MAX_SIZE}")
    return checked


def as_column(
    values: ArrayLike, dtype: np.dtype[Any], name: str, length: int | None = None
) -> NDArray[Any]:
    """Return a new array of integers. Raises `TraceError` if the conversion loses information."""
    given = np.asarray(values)
    if given.ndim != 1 or (length is not None and len(given) != length):
        raise TraceError(f"column {name} has shape {given.shape}, not ({length or 'events'},)")
    if given.size and given.dtype.kind not in "iu":
        raise TraceError(f"column {name} contains {given.dtype}, not whole numbers")
    column = np.array(given, dtype)
    if given.dtype != dtype and not np.array_equal(column, given):
        raise TraceError(f"column {name} contains numbers that do not fit {dtype}")
    return column
