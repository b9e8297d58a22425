"""Getting at traces."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from simalloc.progress import progress as any_progress
from simalloc.trace import Trace
from simalloc.trace.catalogue import find_trace, load

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    path = find_trace(source)
    with any_progress(path.name, 1.0, shown=progress) as bar:
        return load(path, progress=bar)


def read_traces(sources: Source | Iterable[Source], *, progress: bool | None) -> list[Trace]:
    """Return one or several traces."""
    given = [sources] if isinstance(sources, (Trace, str, os.PathLike)) else sources
    return [read_trace(source, progress=progress) for source in given]
