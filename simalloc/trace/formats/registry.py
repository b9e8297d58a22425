"""All formats by name."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from simalloc.errors import TraceError
from simalloc.trace.archive import ZIP_START
from simalloc.trace.formats import (
    board,
    board_logs,
    gabber,
    glibc_trace,
    heaptrack,
    johnstone_wilson,
    lifetimes,
    logalloc,
    ltrace,
    memory_replay,
    memray,
    mtrace,
    pytorch,
    rep,
    rmm,
    text,
    tflite_micro,
    valgrind,
    xla,
)
from simalloc.trace.formats.log import Format
from simalloc.trace.formats.stream import HEAD_BYTES, LogStream
from simalloc.trace.header import Header
from simalloc.trace.shapes import CheckedEvents

_FORMATS: Final[tuple[Format, ...]] = (
    text.FORMAT,
    rep.FORMAT,
    gabber.FORMAT,
    mtrace.FORMAT,
    heaptrack.FORMAT,
    logalloc.FORMAT,
    memory_replay.FORMAT,
    valgrind.FORMAT,
    ltrace.FORMAT,
    lifetimes.FORMAT,
    memray.FORMAT,
    pytorch.FORMAT,
    glibc_trace.FORMAT,
    johnstone_wilson.FORMAT,
    board.FORMAT,
    *board_logs.FORMATS,
    rmm.FORMAT,
    tflite_micro.FORMAT,
    xla.FORMAT,
)

FORMATS: Final[dict[str, Format]] = {each.name: each for each in _FORMATS}
"""Formats in the order in which they are tried."""


class Writer(NamedTuple):
    """A function that writes a trace in a format, and the kinds of events of the format."""

    write: Callable[[Header, Iterable[CheckedEvents]], Iterator[bytes]]
    has_reallocs: bool
    has_all: bool = False
    """True if the format has every kind of event, and False if it has only mallocs, reallocs and
    frees.
    """


WRITERS: Final = {
    "text": Writer(text.write, has_reallocs=True, has_all=True),
    "rep": Writer(rep.write, has_reallocs=True),
    "gabber": Writer(gabber.write, has_reallocs=False),
    "lifetimes": Writer(lifetimes.write, has_reallocs=False),
}
"""The formats in which a trace can be written."""

_MARKS: Final = (BOM_UTF8, BOM_UTF16_LE, BOM_UTF16_BE)

_FREE_BYTES: Final = re.compile(
    rb"\bfree[ _]?(size|heap|bytes)|\bheap[ _]?free|largest[ _](free[ _])?block|GetFreeHeapSize",
    re.IGNORECASE,
)
"""Pattern of a log with the heap's free bytes or its largest free block, which many boards print.
"""


def detect(stream: LogStream) -> Format:
    """Detect a log's format from its beginning. Raises `TraceError` if no format matches."""
    head = stream.peek(HEAD_BYTES)
    if not head:
        raise TraceError("is empty", path=stream.name)
    for each in FORMATS.values():
        if each.sniff(head):
            return each
    if head.startswith(ZIP_START):
        raise TraceError("is a zip archive; a trace of simalloc needs no import", path=stream.name)
    if head.startswith(_MARKS):
        raise TraceError(
            "begins with a byte order mark; save it as UTF-8 without a byte order mark",
            path=stream.name,
        )
    if _FREE_BYTES.search(head):
        raise TraceError(
            (
                "reports only the heap's free bytes; a trace requires every malloc and free. "
                "Record them on the board (docs/boards.md), use `--from pattern` if other "
                "lines contain them, or draw this log beside a model with "
                "simalloc.draw_timelines (board_log)"
            ),
            path=stream.name,
        )
    start = repr(head[:40]).removeprefix("b")
    raise TraceError(
        (
            f"is in an unknown format: it begins with {start}. If it is one of the "
            f"following formats, name it with `simalloc import --from NAME`: {', '.join(FORMATS)}. "
            "For any other log with a line for each event, use `--from pattern` (docs/formats.md)"
        ),
        path=stream.name,
    )
