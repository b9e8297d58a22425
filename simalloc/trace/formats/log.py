"""What every format's reader is given and gives: a log, and batches of events out of it."""

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
"""Which of several equal objects a free is taken to be of, where a log does not say."""


@dataclass
class Tally:
    """How often something in a log was left out, and the line where it happened first."""

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

    `left_out` counts what the log has and the trace has not, by what it is. Where the reader can go
    on after a mistake it calls `complain`, which is an error unless the log is read leniently.
    `sites` has the names of call sites that the log tells, or `stacks` their call paths, and `told`
    what else is for the trace's provenance. Of a log of several devices, `device` is the one to be
    read, and `elf` is the program whose return addresses the log has.
    `may_begin_late` says that the tool may have been attached to a running program: frees of blocks
    that the log does not know are counted then.
    `match_frees` is the guess that was asked for, and `guessed` says whether it was needed.
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
    told: dict[str, Any] = field(default_factory=dict)

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
    """A run of events, and where in the log they stand.

    Event `i` is on line `first_line + rows[i]`, or `first_line + i` where `rows` is None; a log
    without lines has no `first_line`. The log's keys are `hexadecimal`, or not.
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
    """What a format makes of a log: the optional columns that its events have, and the events."""

    columns: tuple[str, ...]
    batches: Iterator[Batch]


class Format(Protocol):
    """A kind of log that can be imported."""

    @property
    def name(self) -> str:
        """What `--from` calls it."""

    @property
    def title(self) -> str:
        """What people call it."""

    def sniff(self, head: bytes) -> bool:
        """Whether a log that begins with `head` is of this kind."""

    def read(self, log: Log) -> Reading:
        """Read the log's events; raises `TraceError`, now or later, for what cannot be read."""
