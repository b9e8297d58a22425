"""Getting at traces."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from simalloc.progress import progress as any_progress
from simalloc.trace import EventSource, Trace, TraceFile, catalogue
from simalloc.trace.formats.importing import load_log
from simalloc.trace.formats.pattern import PatternFormat
from simalloc.trace.statistics import Statistics
from simalloc.trace.statistics import describe as describe_trace

Source = Trace | TraceFile | str | os.PathLike[str]
"""A trace, its name in the catalogue, or the path of a trace or log."""


def read_trace(source: Source, *, progress: bool | None = None) -> Trace:
    """Return a trace by its name in the catalogue, such as `"espresso"`, or by its path.

    The file may be a trace of simalloc's or another tool's log in any format that `simalloc import`
    knows. `traces()` lists the catalogue. `progress` shows a bar; None: in notebooks only.

    Raises `TraceError` if there is no such trace, or it is damaged.
    """
    if isinstance(source, Trace | TraceFile):
        return source.in_memory()
    with any_progress(Path(source).name, 1.0, shown=progress) as bar:
        return catalogue.load(source, progress=bar)


def read_log(
    path: str | os.PathLike[str],
    *,
    patterns: Mapping[str, str] | None = None,
    match_frees: Literal["newest", "oldest"] | None = None,
    lenient: bool = False,
    progress: bool | None = None,
) -> Trace:
    r"""Return the trace of an allocation log, as `simalloc import` reads it.

    `patterns` reads a log of one's own: regular expressions for `malloc`, `free` and, if needed,
    `realloc` and `ignore`, with groups `size` (or `hexsize`), `count`, `id` and `old`. Without
    `id`, mallocs are numbered from 0:

        patterns={"malloc": r"Alloc\((?P<size>\d+)\)", "free": r"Free\((?P<id>\d+)\)"}

    `match_frees` guesses which of several equal objects a free is of, where the log does not say
    (heaptrack). If `lenient`, what is wrong is skipped and counted in the trace's provenance.
    `progress` shows a bar; None: in notebooks only.

    Raises `TraceError` for a log that is wrong, and `OSError` for one that cannot be opened.
    """
    own = None if patterns is None else PatternFormat(patterns)
    with any_progress(Path(path).name, 1.0, shown=progress) as bar:
        return load_log(
            path, from_format=own, lenient=lenient, match_frees=match_frees, progress=bar
        )


def describe(source: Source, *, added: int = 0, progress: bool | None = None) -> Statistics:
    """Return a trace's statistics; `added` bytes are added to each size for the size classes.

    A trace file is read as it is described, and may be of any length. `progress` shows how far it
    is; None: in notebooks. Raises as `read_trace` does.
    """
    opened = open_source(source, progress=progress)
    with any_progress(opened.name, 1.0, shown=progress) as bar:
        return describe_trace(opened, added=added, progress=bar)


def open_source(source: Source, *, progress: bool | None) -> Trace | TraceFile:
    """Return what can be replayed: a trace file is read while it is, whatever its length."""
    if isinstance(source, Trace | TraceFile):
        return source
    with any_progress(Path(source).name, 1.0, shown=progress) as bar:
        return catalogue.open_source(source, progress=bar)


def open_sources(sources: Source | Iterable[Source], *, progress: bool | None) -> list[EventSource]:
    """Return one or several traces, to be replayed."""
    kinds = (Trace, TraceFile, str, os.PathLike)
    given = [sources] if isinstance(sources, kinds) else sources
    return [open_source(source, progress=progress) for source in given]
