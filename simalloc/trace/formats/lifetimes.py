"""Lifetimes in MiniMalloc's comma-separated values, `ID,LOWER,UPPER,SIZE`.

A column `offset`, which contains a placement, is ignored. Gaps in buffers are an error: a trace
contains whole objects, and only `simalloc best-possible` reads gaps. An object is live from its
lower time until before its upper time. At equal times, frees precede mallocs. Times only order the
events. All rows are held in memory, because they may have any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import MAX_SIZE, Op
from simalloc.trace.formats.grammar import Grammar
from simalloc.trace.formats.lifetimes_table import (
    LifetimesTable,
    Title,
    is_table,
    read_table,
    read_title,
)
from simalloc.trace.formats.lines import printed
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.header import Header
from simalloc.trace.shapes import CheckedEvents, ReadEvents

_TITLE: Final = "id,lower,upper,size"
_ROW: Final = "{id},{lower},{upper},{size}"
_ALIGNMENT: Final = "alignment"
_EVENTS: Final = 1 << 16

Ints = NDArray[np.int64]


class _Lifetimes:
    """Lifetimes with the rows in any order."""

    name = "lifetimes"
    title = "lifetimes as CSV: id,lower,upper,size"

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return is_table(head)

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        title, line = read_title(log)
        columns = (_ALIGNMENT,) if _ALIGNMENT in title.columns else ()
        return Reading(columns, _batches(log, title, line))


class Row(NamedTuple):
    """An object: its line, the beginning and the end of its lifetime, and its size."""

    line: int
    lower: int
    upper: int
    size: int


def batches_of(rows: list[Row]) -> Iterator[Batch]:
    """Yield the events of objects in any order. At equal times, frees precede mallocs."""
    return _events(*np.array(rows, np.int64).reshape(-1, 4).T)


def batches_of_table(log: Log, table: LifetimesTable) -> Iterator[Batch]:
    """Yield the events of the rows of a table, ignoring gaps in buffers."""
    size, alignment = table.size, table.alignment
    if alignment is not None and (wrong := alignment > MAX_SIZE).any():
        line, count = int(table.line[np.argmax(wrong)]), int(np.count_nonzero(wrong))
        log.complain("alignments out of range", f"the alignment is above {MAX_SIZE}", line, count)
        alignment = np.where(wrong, 0, alignment)
    return _events(table.line, table.lower, table.upper, size, alignment)


def _batches(log: Log, title: Title, first_line: int) -> Iterator[Batch]:
    table = read_table(log, title, first_line)
    if table.gaps:
        reason = (
            "the buffer has gaps, which a trace cannot express; only `simalloc "
            "best-possible` reads them"
        )
        rows = {gap.row for gap in table.gaps}
        log.complain("gaps of buffers", reason, int(table.line[min(rows)]), len(rows))
    yield from batches_of_table(log, table)


def _events(
    line: Ints, lower: Ints, upper: Ints, size: Ints, alignment: Ints | None = None
) -> Iterator[Batch]:
    key = np.arange(len(line))
    time = np.concatenate((upper, lower))
    malloc = np.repeat((False, True), len(key))
    order = np.lexsort((malloc, time))
    for start in range(0, len(order), _EVENTS):
        part = order[start : start + _EVENTS]
        op = np.where(malloc[part], Op.MALLOC, Op.FREE).astype(np.uint8)
        row = key[part % len(key)]
        columns = {} if alignment is None else {_ALIGNMENT: alignment[row] * malloc[part]}
        yield Batch(ReadEvents(op, row, size[row], None, columns), 0, line[row])


FORMAT: Final = _Lifetimes()


def write(header: Header, chunks: Iterable[CheckedEvents]) -> Iterator[bytes]:
    """Yield a trace as lifetimes in the order of their ends. The times are event numbers.

    A realloc ends one lifetime and begins the next. Objects that are never freed live until the
    end. The column `alignment` exists if the trace has alignments. Its value is 1 for an object
    without an alignment.
    """
    aligned = _ALIGNMENT in header.columns
    more = f",{{{_ALIGNMENT}}}" if aligned else ""
    grammar = Grammar({_ROW + more: Op.MALLOC})
    yield f"{_TITLE}{f',{_ALIGNMENT}' if aligned else ''}\n".encode()
    lives = _Lives(header.totals.max_live_objects)
    for chunk in chunks:
        yield _printed(grammar, lives.ended(chunk))
    yield _printed(grammar, lives.left(header.totals.events))


def _printed(grammar: Grammar, rows: Ints) -> bytes:
    fields = dict(zip(grammar.fields, rows, strict=False))
    return printed(grammar, np.zeros(rows.shape[1], np.uint8), **fields)


class _Lives:
    """Live objects by slot: number of the lifetime, its beginning, size and alignment."""

    def __init__(self, slots: int) -> None:
        self._begun = np.zeros((4, slots), np.int64)
        self._live = np.zeros(slots, np.bool_)
        self._lives = 0
        self._events = 0

    def ended(self, chunk: CheckedEvents) -> Ints:
        """Return the lifetimes that end in the next chunk, shape (5, n).

        The rows are id, lower, upper, size and alignment.
        """
        begins = chunk.op != Op.FREE
        number = self._lives + np.cumsum(begins) - 1
        time = np.arange(self._events, self._events + len(chunk))
        alignment = chunk.columns.get(_ALIGNMENT, np.zeros(len(chunk), np.int64))
        begun = np.stack((number, time, chunk.size, np.maximum(alignment, 1)))
        order = np.argsort(chunk.slot, kind="stable")
        slot = chunk.slot[order]
        first = np.diff(slot, prepend=-1) != 0  # first of the chunk's events in each slot
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
        number, lower, size, alignment = before[:, ends]
        return np.stack((number, lower, time[ends], size, alignment))

    def left(self, end: int) -> Ints:
        """Return the lifetimes of objects still live, ending at `end`, in the form of `ended`."""
        number, lower, size, alignment = self._begun[:, self._live]
        return np.stack((number, lower, np.full(len(lower), end), size, alignment))
