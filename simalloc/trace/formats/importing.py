"""From a log to a trace."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from simalloc.errors import TraceError
from simalloc.trace.events import Op, Reason, complaint
from simalloc.trace.formats.log import Log
from simalloc.trace.formats.registry import FORMATS, detect
from simalloc.trace.formats.stream import LogStream
from simalloc.trace.header import Totals
from simalloc.trace.intake import Collector, Events
from simalloc.trace.writer import TraceWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from io import BufferedReader

    from simalloc.trace.formats.log import Batch, Format, Tally
    from simalloc.trace.intake import Intake
    from simalloc.trace.trace import Trace

STDIN: Final = "-"

_AFTER_A_MISTAKE: Final = 64  # events taken in at once: more of the kind are likely to follow

_SKIPPED: Final = {
    Reason.FREE_OF_DEAD: "frees of unknown objects",
    Reason.REALLOC_OF_DEAD: "reallocs of unknown objects",
    Reason.MALLOC_OF_LIVE: "missing frees, supplied when the key was given out again",
    Reason.MOVE_TO_LIVE: "missing frees, supplied when the key was given out again",
    Reason.SIZE: "sizes out of range",
}
"""What can be skipped in a log that is read leniently, by the reason why it is wrong."""


@dataclass(frozen=True)
class Opened:
    """A log whose format is known."""

    log: Log
    format: Format
    bytes: int
    """The size of its file; 0 for standard input and the like."""

    @property
    def share(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        return self.log.stream.raw.tell() / self.bytes if self.bytes else 0.0

    @property
    def provenance(self) -> dict[str, Any]:
        """What a trace of the log says about where it comes from."""
        left_out = {what: tally.count for what, tally in self.log.left_out.items()}
        stated = {"log": Path(self.log.stream.name).name, "format": self.format.name}
        return {**stated, "left_out": left_out} if left_out else stated


class Imported(NamedTuple):
    """What came out of a log: the trace's totals, and what the log has and the trace has not."""

    totals: Totals
    format: Format
    left_out: Mapping[str, Tally]


@contextmanager
def open_log(
    source: str | os.PathLike[str], *, from_format: str | None = None, lenient: bool = False
) -> Iterator[Opened]:
    """Open a log, a path or `-` for standard input, and tell its format unless it is named.

    Raises `TraceError` for an unknown format and for damaged compression.
    """
    if from_format is not None and from_format not in FORMATS:
        raise TraceError(f"there is no format {from_format!r}; there are {', '.join(FORMATS)}")
    with ExitStack() as stack:
        if str(source) == STDIN:
            stdin = cast("BufferedReader", sys.stdin.buffer)
            stream, size = LogStream(stdin, "standard input"), 0
        else:
            raw = stack.enter_context(Path(source).open("rb"))
            size = os.fstat(raw.fileno()).st_size if raw.seekable() else 0
            stream = LogStream(raw, str(source))
        log = Log(stream, lenient)
        yield Opened(log, FORMATS[from_format] if from_format else detect(stream), size)


def import_log(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    from_format: str | None = None,
    lenient: bool = False,
    name: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Imported:
    """Write a trace of a log, in bounded memory.

    `progress` is called with the share of the log that was read since its last call. Raises
    `TraceError`, and leaves nothing behind, for a log that is wrong; if `lenient`, what can be
    skipped is skipped and counted.
    """
    with (
        open_log(source, from_format=from_format, lenient=lenient) as opened,
        TraceWriter(target, name=name or _name(source), columns=opened.format.columns) as writer,
    ):
        share = 0.0
        for batch in opened.format.read(opened.log):
            feed(opened.log, batch, writer)
            if progress is not None:
                progress(opened.share - share)
                share = opened.share
        writer.provenance.update(opened.provenance)
    return Imported(Totals.of(writer.table, writer.events), opened.format, opened.log.left_out)


def load_log(
    source: str | os.PathLike[str], *, from_format: str | None = None, lenient: bool = False
) -> Trace:
    """Return a log as a trace in memory."""
    with open_log(source, from_format=from_format, lenient=lenient) as opened:
        collector = Collector(opened.format.columns)
        for batch in opened.format.read(opened.log):
            feed(opened.log, batch, collector)
    return collector.trace(_name(source), opened.provenance)


def feed(log: Log, batch: Batch, intake: Intake) -> None:
    """Take in a batch; what is not valid is an error, or is skipped and counted if lenient."""
    events = batch.events
    start, window = 0, len(events)
    while start < len(events):
        done, reason = intake.append_valid(events.part(start, start + window))
        start += done
        if reason is Reason.NONE:
            window *= 2
            continue
        window = _AFTER_A_MISTAKE
        text = complaint(
            reason, int(events.op[start]), int(events.key[start]), int(events.size[start])
        )
        if reason not in _SKIPPED:
            raise log.wrong(text, batch.line(start))
        log.complain(_SKIPPED[reason], text, batch.line(start))
        if reason in (Reason.MALLOC_OF_LIVE, Reason.MOVE_TO_LIVE):
            intake.append(_free_of_the_holder(events.part(start, start + 1), reason))
        else:
            start += 1


def _free_of_the_holder(event: Events, reason: Reason) -> Events:
    """Return a free of the object that still has the key that an event is about to give out."""
    key = event.key
    if reason is Reason.MOVE_TO_LIVE and event.new_key is not None:
        key = event.new_key
    return Events(np.array([Op.FREE], np.uint8), key, np.zeros(1, np.int64), None, event.columns)


def _name(source: str | os.PathLike[str]) -> str:
    """Return a trace's name: the file's, without what its endings say of format and compression."""
    return "stdin" if str(source) == STDIN else Path(source).name.split(".")[0] or "trace"
