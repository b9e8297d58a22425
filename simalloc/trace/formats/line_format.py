"""Formats with a line an event."""

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
    """A log with a line an event, recognised by a regular expression that its beginning matches.

    `Interpreter` defines the grammar's fields and `pointers`. Fields with the name of an optional
    column become that column. Where lines depend on others, `change` makes for each log the
    function that processes every run of rows, and `changed` names the columns that it adds. A log
    `may_begin_late` if its tool can be attached to a running program or started by it.
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
        """The optional columns that its events have."""
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
        """Yield the events of the lines that are left, the first of them being `first_line`."""
        interpreter = self.interpreter(log)
        for rows in self.rows(log, first_line):
            yield interpreter.batch(rows)

    def rows(self, log: Log, first_line: int = 1) -> Iterator[Rows]:
        """Yield the lines that are left, the first of them being `first_line`."""
        change = self.change() if self.change else None
        for rows in scan(log, self.grammar, first_line):
            yield change(log, rows) if change else rows

    def interpreter(self, log: Log) -> Interpreter:
        """Return the interpreter that makes events of the lines of a log."""
        hexadecimal = any("{key:" in pattern for pattern in self.grammar.patterns)
        return Interpreter(log, self.columns, pointers=self.pointers, hexadecimal=hexadecimal)
