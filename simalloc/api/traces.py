"""Getting at traces."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from simalloc.progress import progress as any_progress
from simalloc.trace import Trace, catalogue
from simalloc.trace.statistics import describe as describe_trace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simalloc.trace import EventSource
    from simalloc.trace.statistics import Statistics

Source = Trace | str | os.PathLike[str]
"""A trace, its name in the catalogue, or the path of a trace or log."""


def read_trace(source: Source, *, progress: bool | None = None) -> Trace:
    """Return a trace by its name in the catalogue, such as `"espresso"`, or by its path.

    The file may be a trace of simalloc's or another tool's log in any format that `simalloc import`
    knows. `traces()` lists the catalogue. `progress` shows how far it is; None: in notebooks.

    Raises `TraceError` if there is no such trace, or it is damaged.
    """
    if isinstance(source, Trace):
        return source
    with any_progress(Path(source).name, 1.0, shown=progress) as bar:
        return catalogue.load(source, progress=bar)


def describe(source: Source, *, added: int = 0, progress: bool | None = None) -> Statistics:
    """Return a trace's statistics; `added` bytes are added to each size for the size classes.

    `progress` shows how far it is; None: in notebooks. Raises as `read_trace` does.
    """
    trace = read_trace(source, progress=progress)
    with any_progress(trace.name, 1.0, shown=progress) as bar:
        return describe_trace(trace, added=added, progress=bar)


def open_source(source: Source, *, progress: bool | None) -> EventSource:
    """Return what can be replayed: a trace file is read while it is, whatever its length."""
    if isinstance(source, Trace):
        return source
    with any_progress(Path(source).name, 1.0, shown=progress) as bar:
        return catalogue.open_source(source, progress=bar)


def open_sources(sources: Source | Iterable[Source], *, progress: bool | None) -> list[EventSource]:
    """Return one or several traces, to be replayed."""
    given = [sources] if isinstance(sources, (Trace, str, os.PathLike)) else sources
    return [open_source(source, progress=progress) for source in given]
