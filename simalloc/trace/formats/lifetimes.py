"""Lifetimes as comma-separated values, `ID,LOWER,UPPER,SIZE`, as MiniMalloc has them.

A column OFFSET behind them, where somebody has put the objects, is left alone. An object lives from
its lower time to before its upper one; at equal times frees come first. Times only order the
events. All rows are held in memory, as they come in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import NO_EVENT, Grammar
from simalloc.trace.formats.lines import printed, scan
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.header import Header
from simalloc.trace.shapes import CheckedEvents, ReadEvents

_TITLE: Final = "id,lower,upper,size"
_ROW: Final = "{id},{lower},{upper},{size}"
_PRINTED: Final = Grammar({_ROW: Op.MALLOC})
_PLACED: Final = f"{_TITLE},offset"
_READ: Final = Grammar(
    {
        **dict.fromkeys((_TITLE, _TITLE.upper(), _PLACED, _PLACED.upper(), "")),
        "{>,}{lower},{upper},{size}": Op.MALLOC,
        "{>,}{lower},{upper},{size},{offset}": Op.MALLOC,
    }
)
_HEAD: Final = re.compile(rb"\s*(?:(?i:id,lower,upper,size(?:,offset)?)\s|[^\s,]+(?:,\d+){3,4}\s)")
_EVENTS: Final = 1 << 16


class _Lifetimes:
    """Rows in any order."""

    name = "lifetimes"
    title = "lifetimes as CSV: id,lower,upper,size"

    def sniff(self, head: bytes) -> bool:
        """Whether a log that begins with `head` is of this kind."""
        return _HEAD.match(head) is not None

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        return Reading((), _batches(log))


class Row(NamedTuple):
    """An object: the line where it is, when it begins to live, when it no longer does, its size."""

    line: int
    lower: int
    upper: int
    size: int


def batches_of(rows: list[Row]) -> Iterator[Batch]:
    """Yield the events of objects in any order; at equal times frees come first."""
    return _events(np.array(rows, np.int64).reshape(-1, 4).T)


def _batches(log: Log) -> Iterator[Batch]:
    yield from _events(np.concatenate([np.empty((4, 0), np.int64), *_rows(log)], axis=1))


def _events(rows: NDArray[np.int64]) -> Iterator[Batch]:
    line, lower, upper, size = rows
    key = np.arange(len(line))
    time = np.concatenate((upper, lower))
    malloc = np.repeat((False, True), len(key))
    order = np.lexsort((malloc, time))
    for start in range(0, len(order), _EVENTS):
        part = order[start : start + _EVENTS]
        op = np.where(malloc[part], Op.MALLOC, Op.FREE).astype(np.uint8)
        row = key[part % len(key)]
        yield Batch(ReadEvents(op, row, size[row]), 0, line[row])


def _rows(log: Log) -> Iterator[NDArray[np.int64]]:
    """Yield line, lower, upper and size of the rows, shape (4, rows)."""
    for rows in scan(log, _READ):
        lower, upper, size = (rows.fields[name] for name in ("lower", "upper", "size"))
        object_ = rows.op != NO_EVENT
        empty = object_ & (lower >= upper)
        if empty.any():
            line = rows.first_line + int(np.argmax(empty))
            text = "the object ends before it begins: lower is to be less than upper"
            log.complain("lifetimes of nothing", text, line, int(np.count_nonzero(empty)))
        lines = np.arange(rows.first_line, rows.first_line + len(lower))
        yield np.stack((lines, lower, upper, size))[:, object_ & ~empty]


FORMAT: Final = _Lifetimes()


def write(header: Header, chunks: Iterable[CheckedEvents]) -> Iterator[bytes]:
    """Yield a trace as lifetimes, in the order in which they end; the times are event numbers.

    A realloc ends one lifetime and begins the next. What is never freed lives until the end.
    """
    yield f"{_TITLE}\n".encode()
    lives = _Lives(header.totals.max_live_objects)
    for chunk in chunks:
        yield _printed(lives.ended(chunk))
    yield _printed(lives.left(header.totals.events))


def _printed(rows: NDArray[np.int64]) -> bytes:
    fields = dict(zip(_PRINTED.fields, rows, strict=True))
    return printed(_PRINTED, np.zeros(rows.shape[1], np.uint8), **fields)


class _Lives:
    """What is live, by slot: the number of its lifetime, when it began, and its size."""

    def __init__(self, slots: int) -> None:
        self._begun = np.zeros((3, slots), np.int64)
        self._live = np.zeros(slots, np.bool_)
        self._lives = 0
        self._events = 0

    def ended(self, chunk: CheckedEvents) -> NDArray[np.int64]:
        """Return the lifetimes that end in the next chunk: id, lower, upper, size, shape (4, n)."""
        begins = chunk.op != Op.FREE
        number = self._lives + np.cumsum(begins) - 1
        time = np.arange(self._events, self._events + len(chunk))
        begun = np.stack((number, time, chunk.size))
        order = np.argsort(chunk.slot, kind="stable")
        slot = chunk.slot[order]
        first = np.diff(slot, prepend=-1) != 0  # of the chunk's events on their slot
        before = np.empty_like(begun)
        before[:, order[first]] = self._begun[:, slot[first]]
        later = np.flatnonzero(~first)
        before[:, order[later]] = begun[:, order[later - 1]]
        last = order[np.diff(slot, append=-1) != 0]
        self._begun[:, chunk.slot[last]] = begun[:, last]
        self._live[chunk.slot[last]] = begins[last]
        self._lives += int(np.count_nonzero(begins))
        self._events += len(chunk)
        ends = np.flatnonzero(chunk.op != Op.MALLOC)
        number, lower, size = before[:, ends]
        return np.stack((number, lower, time[ends], size))

    def left(self, end: int) -> NDArray[np.int64]:
        """Return the lifetimes of what is still live, to end at `end`."""
        number, lower, size = self._begun[:, self._live]
        return np.stack((number, lower, np.full(len(lower), end), size))
