"""Conversion of lines of text to rows of numbers, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.trace import _c
from simalloc.trace.formats.grammar import NO_EVENT, UNLIKE, Grammar

if TYPE_CHECKING:
    from simalloc.trace.formats.log import Log

_BLOCK: Final = 1 << 20
_ROWS: Final = 1 << 16
_UNLIKE_LINES: Final = "lines that are not of the format"
_RANGE: Final = 2  # SCAN_RANGE of c/scan.h


class Rows(NamedTuple):
    """Lines as numbers: `op` (or `NO_EVENT`) and each named field, with one entry per line."""

    op: NDArray[np.uint8]
    fields: Mapping[str, NDArray[np.int64]]
    first_line: int
    text: memoryview

    def lines(self, rows: Iterable[int]) -> list[str]:
        """Return some of the lines as text, as in the log."""
        lines = bytes(self.text).split(b"\n")
        return [lines[row].decode("utf-8", "backslashreplace") for row in rows]


def scan(log: Log, grammar: Grammar, first_line: int = 1) -> Iterator[Rows]:
    """Yield the remaining lines of a log. The next lines reuse the arrays."""
    kind = np.empty(_ROWS, np.uint8)
    numbers = np.empty((max(1, len(grammar.fields)), _ROWS), np.int64)
    line = first_line
    text = b""
    while block := log.stream.read(_BLOCK):
        text += block
        start, rows = 0, _ROWS
        while rows == _ROWS:
            rows, consumed, trouble, column = _c.scan(
                grammar.steps, kind, numbers, text, start, log.lenient
            )
            if rows:
                fields = dict(zip(grammar.fields, numbers[:, :rows], strict=False))
                taken = memoryview(text)[start : start + consumed]
                yield _without_unlike(log, Rows(grammar.ops[kind[:rows]], fields, line, taken))
            line += rows
            start += consumed
            if trouble:
                wrong = text[start : text.index(b"\n", start)]
                log.complain(_UNLIKE_LINES, _reason(wrong, trouble, column, grammar), line)
        text = text[start:]
        if len(text) > _BLOCK:
            raise log.wrong(f"the line has more than {_BLOCK} bytes", line)
    if text:
        log.complain(
            "last lines that are cut off",
            f"the last line {_shown(text)} has no newline at its end; the log may be cut off",
            line,
        )


def _without_unlike(log: Log, rows: Rows) -> Rows:
    """Count the lines that match no pattern, and mark them as lines without an event."""
    unlike = rows.op == UNLIKE
    if unlike.any():
        line = rows.first_line + int(np.argmax(unlike))
        log.leave_out(_UNLIKE_LINES, int(np.count_nonzero(unlike)), line)
        rows.op[unlike] = NO_EVENT
    return rows


def printed(grammar: Grammar, kind: NDArray[np.uint8], **fields: NDArray[np.int64]) -> bytes:
    """Return rows as lines. `kind` contains the number of each row's pattern in the grammar."""
    if not len(kind):
        return b""
    numbers = np.stack([fields[name] for name in grammar.fields])
    text = bytearray(len(kind) * (len(grammar.steps) + 20 * len(numbers)))
    return bytes(memoryview(text)[: _c.print(grammar.steps, kind, numbers, text)])


def _reason(line: bytes, trouble: int, column: int, grammar: Grammar) -> str:
    text = line.rstrip()
    if trouble == _RANGE:
        what = f"the number at column {column + 1} is too large"
    elif column >= len(text):
        what = "the line ends too early"
    elif column == 0:
        what = "the line does not begin like a line of this format"
    else:
        what = f"the text at column {column + 1} does not match the format"
    return f"{_shown(text)}: {what}; events are {grammar.shapes}"


def _shown(line: bytes) -> str:
    text = line[:60].decode("utf-8", "backslashreplace")
    return repr(text) + ("..." if len(line) > 60 else "")
