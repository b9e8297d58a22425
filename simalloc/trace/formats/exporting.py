"""Conversion of a trace to a log."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final, NamedTuple

import numpy as np

from simalloc.errors import TraceError
from simalloc.files import keep_apart, replacing
from simalloc.trace.events import Op
from simalloc.trace.formats.importing import import_log
from simalloc.trace.formats.registry import WRITERS
from simalloc.trace.formats.stream import compressed
from simalloc.trace.header import Header, Totals
from simalloc.trace.reader import TraceReader, is_trace_file
from simalloc.trace.shapes import CheckedEvents
from simalloc.trace.writer import is_text_name

STDOUT: Final = "-"
_PIECE: Final = 1 << 16
"""Number of events written at a time."""


class Exported(NamedTuple):
    """Result of an export: the trace's totals, and the reallocs written as free and malloc."""

    totals: Totals
    split_reallocs: int


def export_trace(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    to_format: str,
    *,
    progress: Callable[[float], None] | None = None,
) -> Exported:
    """Write a trace file, or a log of any format, as a log of the format `to_format`.

    `target` is a path, or `-` for standard output. The suffix of the path selects the compression
    (.zst, .gz, .xz, .bz2). `progress` is called with the fraction written since its last call.
    Raises `OSError`, before anything is written, if `target` is the file that is read.
    """
    if to_format not in WRITERS:
        raise TraceError(
            f"unknown format {to_format!r} to write; choose one of {', '.join(WRITERS)}"
        )
    keep_apart(target, [source])
    with ExitStack() as stack:
        if not is_trace_file(source):
            folder = Path(stack.enter_context(TemporaryDirectory()))
            import_log(source, folder / "trace.npz", name=Path(source).name)
            source = folder / "trace.npz"
        reader = stack.enter_context(TraceReader(source))
        writer, header = WRITERS[to_format], reader.header
        chunks = _reported(reader, progress)
        if not writer.has_all:
            header, chunks = _plain(reader, to_format), map(_plain_chunk, chunks)
        blocks = writer.write(header, chunks)
        stream = _target(target, stack)
        for block in compressed(blocks, str(target)):
            stream.write(block)
    return Exported(header.totals, 0 if writer.has_reallocs else header.totals.reallocs)


@contextmanager
def trace_file_for(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path where the `with` block writes a trace file.

    The path is `target`. If `target` has the name of a text (`.txt`, `.txt.zst`), the path is
    temporary, and the trace is then written to `target` as text.
    """
    if not is_text_name(target):
        yield Path(target)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.npz"
        yield path
        export_trace(path, target, "text")


def _target(target: str | os.PathLike[str], stack: ExitStack) -> BinaryIO:
    if str(target) == STDOUT:
        return sys.stdout.buffer
    return stack.enter_context(replacing(target))


def _plain(reader: TraceReader, to_format: str) -> Header:
    """Return the header of a trace in a format that has only mallocs, reallocs and frees.

    Raises `TraceError` for events that only the text format can express.
    """
    counts = np.zeros(len(Op), np.int64)
    for part in reader.replayed_parts():
        counts += np.bincount(part.op, minlength=len(Op))
    if counts[Op.USE] or counts[Op.EMPTY]:
        reason = "the trace has events use or empty, which"
        raise TraceError(f"{reason} the format {to_format} cannot express; choose text")
    totals = reader.header.totals
    kept = replace(totals, events=totals.events - int(counts[Op.THREAD_END]))
    return replace(reader.header, totals=kept)


def _plain_chunk(chunk: CheckedEvents) -> CheckedEvents:
    """Return a chunk without thread exits and with callocs as mallocs."""
    kept = chunk.taken(chunk.op != Op.THREAD_END)
    return replace(kept, op=np.where(kept.op == Op.CALLOC, np.uint8(Op.MALLOC), kept.op))


def _reported(
    reader: TraceReader, progress: Callable[[float], None] | None
) -> Iterator[CheckedEvents]:
    """Yield the events in pieces that take little memory as text, and report the fraction done."""
    for chunk in reader.chunks():
        for at in range(0, len(chunk), _PIECE):
            piece = chunk.part(at, at + _PIECE)
            yield piece
            if progress is not None:
                progress(len(piece) / reader.header.totals.events)
