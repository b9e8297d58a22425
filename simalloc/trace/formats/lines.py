"""Line-based logs: from lines to rows of numbers to events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from simalloc.trace import _native
from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import NO_EVENT, Grammar
from simalloc.trace.formats.log import Batch
from simalloc.trace.intake import Events

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from simalloc.trace.formats.log import Log

_BLOCK: Final = 1 << 20
_ROWS: Final = 1 << 16
_RANGE: Final = 2  # SCAN_RANGE of native/scan.h


class Rows(NamedTuple):
    """Lines as numbers: `op` (or `NO_EVENT`) and each named field, one entry a line."""

    op: NDArray[np.uint8]
    fields: Mapping[str, NDArray[np.int64]]
    first_line: int


def scan(log: Log, grammar: Grammar, first_line: int = 1) -> Iterator[Rows]:
    """Yield the lines that are left in a log; the arrays are used again for the next."""
    kind = np.empty(_ROWS, np.uint8)
    numbers = np.empty((max(1, len(grammar.fields)), _ROWS), np.int64)
    line = first_line
    text = b""
    while block := log.stream.read(_BLOCK):
        text += block
        start = 0
        while True:
            rows, consumed, trouble, column = _native.scan(
                grammar.steps, kind, numbers, text, start
            )
            if rows:
                fields = dict(zip(grammar.fields, numbers[:, :rows], strict=False))
                yield Rows(grammar.ops[kind[:rows]], fields, line)
            line += rows
            start += consumed
            if trouble:
                end = text.index(b"\n", start)
                reason = _reason(text[start:end], trouble, column, grammar)
                log.complain("lines that are like none of the format", reason, line)
                start = end + 1
                line += 1
            elif rows < _ROWS:
                break
        text = text[start:]
        if len(text) > _BLOCK:
            raise log.wrong(f"the line has more than {_BLOCK} bytes", line)
    if text:
        log.complain(
            "last lines that are cut off",
            f"the last line {_shown(text)} does not end: the log was cut off, or lacks a newline",
            line,
        )


def printed(grammar: Grammar, kind: NDArray[np.uint8], **fields: NDArray[np.int64]) -> bytes:
    """Return rows as lines: `kind` is the number of each one's pattern in the grammar."""
    if not len(kind):
        return b""
    numbers = np.stack([fields[name] for name in grammar.fields])
    text = bytearray(len(kind) * (len(grammar.steps) + 20 * len(numbers)))
    return bytes(memoryview(text)[: _native.print(grammar.steps, kind, numbers, text)])


@dataclass(frozen=True)
class LineFormat:
    """A log with a line an event, told by a regular expression that its beginning matches.

    The grammar's fields mean what their names say: `key` (an address where `pointers`, else an id)
    is what the line is about, `old` what a realloc was given, `size` its bytes, and `count` how
    many times those; further fields are optional columns.
    """

    name: str
    title: str
    looks: re.Pattern[bytes]
    grammar: Grammar
    pointers: bool = False
    columns: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Whether a log that begins with `head` is of this kind."""
        return self.looks.match(head) is not None

    def read(self, log: Log) -> Iterator[Batch]:
        """Yield the log's events."""
        return self.batches(log, 1)

    def batches(self, log: Log, first_line: int) -> Iterator[Batch]:
        """Yield the events of the lines that are left, the first of them being `first_line`."""
        for rows in scan(log, self.grammar, first_line):
            yield events_of(log, rows, self.columns, pointers=self.pointers)


def events_of(log: Log, rows: Rows, columns: tuple[str, ...], *, pointers: bool) -> Batch:
    """Turn rows into events, with what malloc, realloc and free mean by a null pointer."""
    op, fields = rows.op, rows.fields
    key, size = fields["key"], fields["size"]
    if "count" in fields:
        size = _product(fields["count"], size)
    new_key = None
    if pointers:
        op = _without_null(log, op, fields, size, rows.first_line)
    if "old" in fields:
        new_key = key
        key = np.where((op == Op.REALLOC) | ((op == Op.FREE) & (key == 0)), fields["old"], key)
    events = Events(op, key, size, new_key, {name: fields[name] for name in columns})
    if (op != NO_EVENT).all():
        return Batch(events, rows.first_line)
    kept = np.flatnonzero(op != NO_EVENT)
    return Batch(events.taken(kept), rows.first_line, kept)


def _without_null(
    log: Log,
    op: NDArray[np.uint8],
    fields: Mapping[str, NDArray[np.int64]],
    size: NDArray[np.int64],
    first_line: int,
) -> NDArray[np.uint8]:
    """Return the ops as they come out: realloc(NULL, n) is a malloc, realloc(p, 0) may free p."""
    null = fields["key"] == 0
    old = fields.get("old", np.zeros_like(size))
    realloc = op == Op.REALLOC
    op = np.where(realloc & (old == 0), np.uint8(Op.MALLOC), op)
    op[realloc & (old != 0) & null & (size == 0)] = Op.FREE
    failed = null & ((op == Op.MALLOC) | (op == Op.REALLOC))
    if failed.any():
        line = first_line + int(np.flatnonzero(failed)[0])
        log.leave_out("allocations that failed", int(np.count_nonzero(failed)), line)
    op[failed | (null & (op == Op.FREE) & ~realloc)] = NO_EVENT
    return op


def _product(count: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Multiply, or answer the largest int64 where that is not enough."""
    overflows = count.astype(np.float64) * size.astype(np.float64) >= 2.0**63
    return np.where(overflows, np.iinfo(np.int64).max, count * size)


def _reason(line: bytes, trouble: int, column: int, grammar: Grammar) -> str:
    text = line.rstrip()
    if trouble == _RANGE:
        what = f"the number at column {column + 1} is too large"
    elif column >= len(text):
        what = "the line ends too early"
    elif column == 0:
        what = "the line begins unlike any of this format"
    else:
        what = f"column {column + 1} is not as it should be"
    return f"{_shown(text)}: {what}; events are {grammar.shapes}"


def _shown(line: bytes) -> str:
    text = line[:60].decode("utf-8", "backslashreplace")
    return repr(text) + ("..." if len(line) > 60 else "")
