"""Conversion of rows of numbers to events: the meanings of a grammar's fields."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import COLUMNS_OF_BYTES, MAX_SIZE, OPTIONAL_COLUMNS, Op, allocates
from simalloc.trace.formats.grammar import NO_EVENT
from simalloc.trace.formats.lines import Rows
from simalloc.trace.formats.log import Batch, Log
from simalloc.trace.shapes import ReadEvents

_LIMITS: Final = {
    name: np.iinfo(dtype).max for name, dtype in OPTIONAL_COLUMNS.items() if name != "time"
} | dict.fromkeys(COLUMNS_OF_BYTES, MAX_SIZE)


class Interpreter:
    """Converts the rows of one log to events.

    `key` identifies the object of a line: an address if `pointers`, otherwise an id. `old` is the
    argument of a realloc, `size` is the number of bytes, and `count` is a factor of the size.
    `process` must be the same in all lines, because each process has its own addresses. `columns`
    are read from the fields with their names. Messages show keys in hexadecimal if `hexadecimal`.
    """

    def __init__(
        self, log: Log, columns: tuple[str, ...], *, pointers: bool, hexadecimal: bool
    ) -> None:
        self._log = log
        self._columns = columns
        self._pointers = pointers
        self._hexadecimal = hexadecimal
        self._process: int | None = None

    def batch(self, rows: Rows) -> Batch:
        """Return the events of the next rows."""
        op = rows.op
        if "process" in rows.fields:
            op = self._of_one_process(rows, op)
        for name in self._columns:
            if name in _LIMITS:
                op = self._within(rows, op, name, _LIMITS[name])
        if self._pointers:
            op = self._without_null(rows, op)
        events = _events(rows, op, self._columns)
        if (op != NO_EVENT).all():
            return Batch(events, rows.first_line, None, self._hexadecimal)
        kept = np.flatnonzero(op != NO_EVENT)
        return Batch(events.taken(kept), rows.first_line, kept, self._hexadecimal)

    def _of_one_process(self, rows: Rows, op: NDArray[np.uint8]) -> NDArray[np.uint8]:
        process = rows.fields["process"]
        event = op != NO_EVENT
        if self._process is None and event.any():
            self._process = int(process[np.argmax(event)])
        other = event & (process != self._process)
        if not other.any():
            return op
        first = int(np.argmax(other))
        return self._left_out(
            rows,
            op,
            other,
            "events of other processes",
            (
                f"the line is of process {process[first]}, but the lines before are of process "
                f"{self._process}; import the lines of one process"
            ),
        )

    def _within(
        self, rows: Rows, op: NDArray[np.uint8], name: str, limit: int
    ) -> NDArray[np.uint8]:
        values = rows.fields[name]
        beyond = (op != NO_EVENT) & ((values < 0) | (values > limit))
        if not beyond.any():
            return op
        reason = f"the {name} is not from 0 to {limit}"
        return self._left_out(rows, op, beyond, f"events whose {name} is out of range", reason)

    def _left_out(
        self, rows: Rows, op: NDArray[np.uint8], which: NDArray[np.bool_], kind: str, reason: str
    ) -> NDArray[np.uint8]:
        line = rows.first_line + int(np.argmax(which))
        self._log.complain(kind, reason, line, int(np.count_nonzero(which)))
        return np.where(which, np.uint8(NO_EVENT), op)

    def _without_null(self, rows: Rows, op: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the resulting ops: realloc(NULL, n) is a malloc, realloc(p, 0) may free p.

        An allocation that returned a null pointer has failed. A free of a null pointer is not an
        event.
        """
        null = rows.fields["key"] == 0
        realloc = op == Op.REALLOC
        if not realloc.any() and not null.any():
            return op
        old = rows.fields.get("old", np.zeros_like(rows.fields["key"]))
        op = np.where(realloc & (old == 0), np.uint8(Op.MALLOC), op)
        frees = realloc & (old != 0) & null & (rows.fields["size"] == 0)
        failed = null & allocates(op) & ~frees
        if failed.any():
            line = rows.first_line + int(np.argmax(failed))
            self._log.leave_out("allocations that failed", int(np.count_nonzero(failed)), line)
        op[failed | (null & (op == Op.FREE))] = NO_EVENT
        op[frees] = Op.FREE
        return op


def _events(rows: Rows, op: NDArray[np.uint8], columns: tuple[str, ...]) -> ReadEvents:
    fields = rows.fields
    key, size, new_key = fields["key"], fields["size"], None
    if "count" in fields:
        size = _product(fields["count"], size)
    if "old" in fields:
        new_key = key
        of_old = (op == Op.REALLOC) | ((op == Op.FREE) & (key == 0))
        key = np.where(of_old, fields["old"], key)
    kept: dict[str, NDArray[Any]] = {
        name: fields[name].astype(OPTIONAL_COLUMNS[name]) for name in columns
    }
    return ReadEvents(op, key, size, new_key, kept)


def _product(count: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the products, limited to the largest int64."""
    overflows = count.astype(np.float64) * size.astype(np.float64) >= 2.0**63
    return np.where(overflows, np.iinfo(np.int64).max, count * size)
