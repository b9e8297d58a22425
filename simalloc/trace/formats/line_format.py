"""Formats with one line per event."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simalloc.trace.events import OPTIONAL_COLUMNS
from simalloc.trace.formats.grammar import Grammar
from simalloc.trace.formats.interpreting import Interpreter
from simalloc.trace.formats.lines import Rows, scan
from simalloc.trace.formats.log import Batch, Log, Reading

Change = Callable[[Log, Rows], Rows]


@dataclass(frozen=True)
class LineFormat:
    """A log with one line per event, recognised by a regular expression for its beginning.

    `Interpreter` defines the grammar's fields and `pointers`. A field with the name of an optional
    column becomes that column. If lines depend on other lines, `change` creates for each log a
    function that processes every run of rows. `changed` names the columns that this function adds.
    A log `may_begin_late` if its tool can be attached to a running program or started by it.
    """

    name: str
    title: str
    looks: re.Pattern[bytes]
    grammar: Grammar
    pointers: bool = False
    change: Callable[[], Change] | None = None
    changed: tuple[str, ...] = ()
    may_begin_late: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The optional columns of its events."""
        fields = {*self.grammar.fields, *self.changed}
        return tuple(name for name in OPTIONAL_COLUMNS if name in fields)

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return self.looks.match(head) is not None

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        log.may_begin_late = self.may_begin_late
        return Reading(self.columns, self.batches(log))

    def batches(self, log: Log, first_line: int = 1) -> Iterator[Batch]:
        """Yield the events of the remaining lines. The first of them has number `first_line`."""
        interpreter = self.interpreter(log)
        for rows in self.rows(log, first_line):
            yield interpreter.batch(rows)

    def rows(self, log: Log, first_line: int = 1) -> Iterator[Rows]:
        """Yield the rows of the remaining lines. The first of them has number `first_line`."""
        change = self.change() if self.change else None
        for rows in scan(log, self.grammar, first_line):
            yield change(log, rows) if change else rows

    def interpreter(self, log: Log) -> Interpreter:
        """Return the interpreter that converts the lines of a log to events."""
        hexadecimal = any("{key:" in pattern for pattern in self.grammar.patterns)
        return Interpreter(log, self.columns, pointers=self.pointers, hexadecimal=hexadecimal)
