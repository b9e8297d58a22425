"""The input and output of every format's reader: a log, and batches of events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import TraceError
from simalloc.trace.formats.stream import LogStream
from simalloc.trace.shapes import ReadEvents
from simalloc.trace.sites import SiteNames
from simalloc.trace.stacks import Stacks

MatchFrees = Literal["newest", "oldest"]
"""The choice between several equal objects that an ambiguous free may end."""


@dataclass
class Tally:
    """Number of omissions of one kind in a log, and the line of the first omission."""

    count: int = 0
    first_line: int | None = None

    def add(self, count: int, line: int | None) -> None:
        """Count more omissions."""
        if self.count == 0:
            self.first_line = line
        self.count += count


@dataclass
class Log:
    """A log being read.

    `left_out` counts the parts of the log that the trace lacks, by kind. A reader that can continue
    after a fault calls `complain`, which raises an error unless the log is read leniently. `sites`
    contains the names of the log's call sites, or `stacks` contains their call paths. `provenance`
    contains other entries of the trace's provenance. `device` selects one device of a log of
    several. `elf` is the program that contains the log's return addresses. `may_begin_late` states
    that the tool may have been attached to a running program; frees of blocks unknown to the log
    are then counted. `match_frees` is the requested guess, and `guessed` states whether a guess was
    necessary.
    """

    stream: LogStream
    lenient: bool = False
    match_frees: MatchFrees | None = None
    guessed: bool = False
    left_out: dict[str, Tally] = field(default_factory=dict)
    sites: SiteNames = field(default_factory=SiteNames)
    stacks: Stacks = field(default_factory=Stacks)
    device: int | None = None
    elf: str | None = None
    may_begin_late: bool = False
    provenance: dict[str, Any] = field(default_factory=dict)

    def leave_out(self, what: str, count: int = 1, line: int | None = None) -> None:
        """Count an item that a trace cannot contain, such as a failed allocation."""
        if count:
            self.left_out.setdefault(what, Tally()).add(count, line)

    def complain(self, kind: str, reason: str, line: int | None = None, count: int = 1) -> None:
        """Raise `TraceError` for a mistake, or count it if the log is read leniently."""
        if not self.lenient:
            raise self.wrong(reason, line, f"`simalloc import --lenient` skips and counts {kind}")
        self.leave_out(kind, count, line)

    def wrong(self, reason: str, line: int | None = None, hint: str | None = None) -> TraceError:
        """Return an error that names the log."""
        return TraceError(reason, path=self.stream.name, line=line, hint=hint)


@dataclass(frozen=True, eq=False)
class Batch:
    """A run of events, and their lines in the log.

    Event `i` is on line `first_line + rows[i]`, or `first_line + i` if `rows` is None. A log
    without lines has no `first_line`. `hexadecimal` states the notation of the log's keys.
    """

    events: ReadEvents
    first_line: int | None = None
    rows: NDArray[np.int64] | None = None
    hexadecimal: bool = False

    def key(self, event: int) -> str:
        """Return the key of one of the events as written in the log."""
        key = int(self.events.key[event])
        return hex(key % 2**64) if self.hexadecimal else str(key)

    def line(self, event: int) -> int | None:
        """Return the line of an event."""
        if self.first_line is None:
            return None
        return self.first_line + (event if self.rows is None else int(self.rows[event]))


class Reading(NamedTuple):
    """Result of reading a log: the optional columns of its events, and the events."""

    columns: tuple[str, ...]
    batches: Iterator[Batch]


class Format(Protocol):
    """A kind of log that can be imported."""

    @property
    def name(self) -> str:
        """Name of the format for `--from`."""

    @property
    def title(self) -> str:
        """Title of the format in messages and tables."""

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""

    def read(self, log: Log) -> Reading:
        """Read the log's events. Raises `TraceError`, now or later, if the log cannot be read."""
