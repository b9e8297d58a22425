"""The input and output of every format's reader: a log, and batches of its events."""

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
"""The one of several equal objects that an ambiguous free ends."""


@dataclass
class Tally:
    """Number of omissions of one kind in a log, and the line of the first."""

    count: int = 0
    first_line: int | None = None

    def add(self, count: int, line: int | None) -> None:
        """Count more of it."""
        if self.count == 0:
            self.first_line = line
        self.count += count


@dataclass
class Log:
    """A log being read.

    `left_out` counts the parts of the log that the trace lacks, by kind. A reader that can continue
    after a fault calls `complain`, which raises an error unless the log is read leniently. `sites`
    has the names of the log's call sites, or `stacks` their call paths, and `provenance` other
    entries for the trace's provenance. In a log of several devices, `device` selects one. `elf` is
    the program with the log's return addresses. `may_begin_late` states that the tool may have been
    attached to a running program; frees of blocks unknown to the log are then counted.
    `match_frees` is the requested guess, and `guessed` states whether it was necessary.
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
        """Count something that no trace holds, such as a failed allocation."""
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
        """Return the key of one of the events as the log has it."""
        key = int(self.events.key[event])
        return hex(key % 2**64) if self.hexadecimal else str(key)

    def line(self, event: int) -> int | None:
        """Return the line of one of the events."""
        if self.first_line is None:
            return None
        return self.first_line + (event if self.rows is None else int(self.rows[event]))


class Reading(NamedTuple):
    """A log as a format reads it: the optional columns of its events, and the events."""

    columns: tuple[str, ...]
    batches: Iterator[Batch]


class Format(Protocol):
    """A kind of log that can be imported."""

    @property
    def name(self) -> str:
        """Name of the format for `--from`."""

    @property
    def title(self) -> str:
        """Title of the format for people."""

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""

    def read(self, log: Log) -> Reading:
        """Read the log's events; raises `TraceError`, now or later, for what cannot be read."""
