"""Conversion of a log to a trace."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, Final, NamedTuple, TypedDict, Unpack, cast

from simalloc.errors import TraceError
from simalloc.files import keep_apart, legible
from simalloc.trace.events import Reason, complaint
from simalloc.trace.formats import pytorch, text
from simalloc.trace.formats.log import Batch, Format, Log, MatchFrees, Reading, Tally
from simalloc.trace.formats.registry import FORMATS, detect
from simalloc.trace.formats.stream import HEAD_BYTES, LogStream
from simalloc.trace.formats.zipped import only_file_in
from simalloc.trace.header import Totals
from simalloc.trace.intake import Collector, Intake
from simalloc.trace.trace import Trace
from simalloc.trace.writer import TraceWriter

_WITH_ADDRESSES: Final = ("board", "esp-heap-trace")
"""Formats with return addresses that the option `--elf` can name."""

STDIN: Final = "-"

_SKIPPED: Final = {
    Reason.FREE_OF_DEAD: "frees of unknown objects",
    Reason.REALLOC_OF_DEAD: "reallocs of unknown objects",
    Reason.MALLOC_OF_LIVE: "lost frees, made up for when the key was given out again",
    Reason.MOVE_TO_LIVE: "lost frees, made up for when the key was given out again",
    Reason.SIZE: "sizes out of range",
}
"""Faults that a lenient reader skips, by the reason of the error."""

_FROM_BEFORE: Final = (Reason.FREE_OF_DEAD, Reason.REALLOC_OF_DEAD)
"""Faults caused by blocks that were allocated before the log begins."""

_HAVE_THREAD_BLOCKS: Final = ("glibc-trace", "heaptrack", "ltrace", "mtrace", "valgrind")
"""Formats of tools that see the allocations with which the C library starts a thread."""


@dataclass(frozen=True)
class Opened:
    """A log with a known format."""

    log: Log
    format: Format
    bytes: int
    """Size of the log's file in bytes, or 0 for standard input and other streams."""

    thread_blocks: bool = False
    """True if the events include the C library's allocations for starting threads."""

    @property
    def share(self) -> float:
        """Fraction of the file that has been read, from 0 to 1."""
        return self.log.stream.raw.tell() / self.bytes if self.bytes else 0.0

    @property
    def provenance(self) -> dict[str, Any]:
        """Provenance of a trace made from the log."""
        left_out = {what: tally.count for what, tally in self.log.left_out.items()}
        stated: dict[str, Any] = {
            "log": Path(self.log.stream.name).name,
            "format": self.format.name,
        }
        if self.log.guessed and self.log.match_frees:
            stated["match_frees"] = f"guessed: the {self.log.match_frees} of the equal objects"
        entries = {
            "left_out": left_out,
            "sites": list(self.log.sites.names),
            "stacks": self.log.stacks.entry() if self.log.stacks else {},
        }
        if self.thread_blocks:
            stated["thread_blocks"] = True
        return {
            **stated,
            **{name: value for name, value in entries.items() if value},
            **self.log.provenance,
        }

    def read(self) -> Reading:
        """Read the log. Raises `TraceError`, now or later, if it cannot be read."""
        reading = self.format.read(self.log)
        if self.log.match_frees and not self.log.guessed:
            raise self.log.wrong(
                f"states the object of each free ({self.format.title}); leave out --match-frees"
            )
        if self.log.device is not None and self.format is not pytorch.FORMAT:
            raise self.log.wrong(
                f"has no devices to choose from ({self.format.title}); leave out --device"
            )
        if self.log.elf is not None and self.format.name not in _WITH_ADDRESSES:
            raise self.log.wrong(
                f"has no return addresses of a board ({self.format.title}); leave out --elf"
            )
        if self.log.elf is not None and not Path(self.log.elf).is_file():
            raise TraceError("file not found; --elf requires the firmware image", path=self.log.elf)
        return reading

    def called(self, name: str) -> str:
        """Return the trace's name, which includes how frees were guessed."""
        return f"{name} (frees guessed: {self.log.match_frees})" if self.log.guessed else name


class Imported(NamedTuple):
    """Result of an import: the trace's totals, and the parts of the log that the trace lacks.

    `match_frees` states how freed objects were guessed, or is None if no guess was necessary.
    """

    totals: Totals
    format: Format
    match_frees: MatchFrees | None
    left_out: Mapping[str, Tally]


class LogOptions(TypedDict, total=False):
    """Options for reading a log; `import_log` documents them."""

    from_format: str | Format | None
    lenient: bool
    match_frees: MatchFrees | None
    device: int | None
    elf: str | os.PathLike[str] | None
    thread_blocks: bool | None


@contextmanager
def open_log(
    source: str | os.PathLike[str],
    *,
    from_format: str | Format | None = None,
    lenient: bool = False,
    match_frees: MatchFrees | None = None,
    device: int | None = None,
    elf: str | os.PathLike[str] | None = None,
    thread_blocks: bool | None = None,
) -> Iterator[Opened]:
    """Open a log (a path, or `-` for standard input) and detect its format unless it is given.

    Raises `TraceError` for an unknown format and for damaged compression.
    """
    if isinstance(from_format, str) and from_format not in FORMATS:
        raise TraceError(f"unknown format {from_format!r}; choose one of {', '.join(FORMATS)}")
    with ExitStack() as stack:
        if str(source) == STDIN:
            stdin = cast("BufferedReader", sys.stdin.buffer)
            stream, size = LogStream(stdin, "standard input", lenient=lenient), 0
        else:
            raw = stack.enter_context(Path(source).open("rb"))
            size = os.fstat(raw.fileno()).st_size if raw.seekable() else 0
            packed = stack.enter_context(only_file_in(raw, str(source))) if size else None
            if packed is None:
                stream = LogStream(raw, str(source), lenient=lenient)
            else:
                stream = LogStream(packed.file, packed.name, lenient=lenient, packed=True)
                size = packed.size
        given = FORMATS[from_format] if isinstance(from_format, str) else from_format
        log = Log(
            stream, lenient, match_frees, device=device, elf=None if elf is None else str(elf)
        )
        found = given or detect(stream)
        if thread_blocks is None:
            thread_blocks = found.name in _HAVE_THREAD_BLOCKS or (
                found is text.FORMAT and text.states_thread_blocks(stream.peek(HEAD_BYTES))
            )
        yield Opened(log, found, size, thread_blocks)


def import_log(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    name: str | None = None,
    progress: Callable[[float], None] = lambda _: None,
    **options: Unpack[LogOptions],
) -> Imported:
    """Write a log as a trace file, in bounded memory.

    `from_format` is a format's name, or a `PatternFormat`. If the log is ambiguous, `match_frees`
    selects which of several equal objects a free ends; the trace's name and provenance state the
    choice. `device` selects one device of a log of several. `elf` is the firmware that names the
    return addresses in a board's recording. `thread_blocks` states whether the events include the C
    library's allocations for starting threads; None means the format's default. `progress` is
    called with the fraction of the log that was read since its last call. Raises `TraceError`, and
    leaves no file behind, for a log with a fault. If `lenient`, faults that can be skipped are
    skipped and counted. Raises `OSError` if `target` is the log itself.
    """
    keep_apart(target, [source])
    with open_log(source, **options) as opened:
        reading = opened.read()
        called = opened.called(name or _name(source))
        with TraceWriter(target, name=called, columns=reading.columns) as writer:
            for batch in _reported(opened, reading.batches, progress):
                feed(opened.log, batch, writer)
            writer.provenance.update(opened.provenance)
    totals = Totals.of(writer.table, writer.events)
    guess = opened.log.match_frees if opened.log.guessed else None
    return Imported(totals, opened.format, guess, opened.log.left_out)


def load_log(
    source: str | os.PathLike[str],
    *,
    progress: Callable[[float], None] = lambda _: None,
    **options: Unpack[LogOptions],
) -> Trace:
    """Return a log as a trace in memory. Errors and `progress` are the same as in `import_log`."""
    with open_log(source, **options) as opened:
        reading = opened.read()
        collector = Collector(reading.columns)
        for batch in _reported(opened, reading.batches, progress):
            feed(opened.log, batch, collector)
    return collector.trace(opened.called(_name(source)), opened.provenance)


def _reported(
    opened: Opened, batches: Iterator[Batch], progress: Callable[[float], None]
) -> Iterator[Batch]:
    """Yield the batches, and report the progress after each batch.

    `progress` receives the fraction of the log that was read since its last call. At the end, count
    the part that could not be decompressed.
    """
    share = 0.0
    for batch in batches:
        yield batch
        progress(opened.share - share)
        share = opened.share
    if opened.log.stream.damaged:
        opened.log.leave_out("ends of compressed data that cannot be read")


def feed(log: Log, batch: Batch, intake: Intake) -> None:
    """Add a batch to a trace. An invalid event is an error, or is skipped and counted if lenient.

    If the log's tool can be attached to a running program, frees and reallocs of unknown objects
    are skipped and counted.
    """
    events = batch.events
    if log.lenient or log.may_begin_late:
        done, reason, skipped = intake.append_lenient(events)
        for why, wrong in skipped.items():
            if not log.lenient and why not in _FROM_BEFORE:
                done, reason = wrong.first, why
                break
            log.leave_out(_SKIPPED[why], wrong.count, batch.line(wrong.first))
    else:
        done, reason = intake.append_valid(events)
    if reason is not Reason.NONE:
        text = complaint(reason, int(events.op[done]), batch.key(done), int(events.size[done]))
        skips = f"`simalloc import --lenient` skips and counts {_SKIPPED.get(reason)}"
        raise log.wrong(text, batch.line(done), skips if reason in _SKIPPED else None)


def _name(source: str | os.PathLike[str]) -> str:
    """Return a trace's name: the file's name without suffixes of format and compression."""
    if str(source) == STDIN:
        return "stdin"
    return legible(Path(source).name.split(".")[0]) or "trace"
