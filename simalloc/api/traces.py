"""Access to traces."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from simalloc.arguments import FLAG, PATH, PATTERNS, Kind, checked, one_of, optional, whole
from simalloc.errors import SimallocError
from simalloc.policy.choice import listed
from simalloc.progress import progress as any_progress
from simalloc.trace import EventSource, Trace, TraceFile, catalogue
from simalloc.trace import write_trace as write_trace_file
from simalloc.trace.events import MAX_SIZE
from simalloc.trace.formats.exporting import trace_file_for
from simalloc.trace.formats.importing import load_log
from simalloc.trace.formats.pattern import PatternFormat
from simalloc.trace.statistics import Statistics
from simalloc.trace.statistics import describe as describe_trace

Source = Trace | TraceFile | str | os.PathLike[str]
"""A trace, its name in the catalogue, or the path of a trace or log."""

_CALLED: Final = Kind("a function of one number", callable)


@checked()
def read_trace(source: Source, *, progress: bool | None = None) -> Trace:
    """Return a trace from the catalogue or from a file.

    `traces()` lists the catalogue. A file is a trace file, or a log in any format that `simalloc
    import` reads.

    Parameters
    ----------
    source : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Trace
        The whole trace in memory.

    Raises
    ------
    TraceError
        If the trace does not exist or is damaged.

    Examples
    --------
    >>> trace = simalloc.read_trace("espresso")
    """
    if isinstance(source, Trace | TraceFile):
        return source.in_memory()
    with any_progress(catalogue.as_path(source).name, 1.0, shown=progress) as bar:
        return catalogue.load(source, progress=bar)


@checked(
    path=PATH,
    patterns=optional(PATTERNS),
    match_frees=optional(one_of("newest", "oldest")),
    lenient=FLAG,
)
def read_log(
    path: str | os.PathLike[str],
    *,
    patterns: Mapping[str, str] | None = None,
    match_frees: Literal["newest", "oldest"] | None = None,
    lenient: bool = False,
    progress: bool | None = None,
) -> Trace:
    r"""Return the trace of an allocation log, as `simalloc import` reads it.

    Parameters
    ----------
    path : str or path
        Path of the log.
    patterns : mapping of str to str, optional
        Regular expressions for a log in another format: `malloc`, `free` and, if needed, `realloc`
        and `ignore`, with groups `size` (or `hexsize`), `count`, `id` and `old`. Without `id`,
        mallocs are numbered from 0. By default the format is detected.
    match_frees : {"newest", "oldest"}, optional
        If the log is ambiguous (heaptrack), match a free to the newest or the oldest object of its
        size.
    lenient : bool, default False
        Skip invalid lines and count them in the trace's provenance.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Trace
        The whole trace in memory.

    Raises
    ------
    TraceError
        If a line of the log is invalid.
    OSError
        If the log cannot be opened.

    Examples
    --------
    >>> patterns = {"malloc": r"Alloc\((?P<size>\d+)\)", "free": r"Free\((?P<id>\d+)\)"}
    >>> simalloc.read_log("app.log", patterns=patterns)
    """
    own = None if patterns is None else PatternFormat(patterns)
    with any_progress(catalogue.as_path(path).name, 1.0, shown=progress) as bar:
        return load_log(
            path, from_format=own, lenient=lenient, match_frees=match_frees, progress=bar
        )


@checked(path=PATH, progress=_CALLED)
def write_trace(
    trace: Trace,
    path: str | os.PathLike[str],
    *,
    progress: Callable[[float], None] = lambda _: None,
) -> None:
    """Write a trace to a trace file, or as plain text if the path ends in `.txt` or `.txt.zst`.

    Text contains no provenance and no call sites.

    Parameters
    ----------
    trace : Trace
        Trace to write.
    path : str or path
        Path of the file.
    progress : callable, optional
        Function that is called with the share of the events written since the last call.

    Raises
    ------
    TraceError
        If text cannot represent the trace's events.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> simalloc.write_trace(simalloc.read_log("app.log"), "app.npz")
    """
    with trace_file_for(path) as file:
        write_trace_file(trace, file, progress=progress)


@checked(added=whole(0, MAX_SIZE))
def describe(source: Source, *, added: int = 0, progress: bool | None = None) -> Statistics:
    """Return the statistics of a trace.

    A trace file is read in chunks and may have any length.

    Parameters
    ----------
    source : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    added : int, default 0
        Bytes to add to each size before it is assigned to a size class.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Statistics
        Counts, peaks, lifetimes and sizes, which docs/statistics.md defines. A notebook displays
        tables.

    Raises
    ------
    TraceError
        If the trace does not exist or is damaged.

    Examples
    --------
    >>> simalloc.describe("espresso").peak_bytes
    """
    opened = open_source(source, progress=progress)
    with any_progress(opened.name, 1.0, shown=progress) as bar:
        return describe_trace(opened, added=added, progress=bar)


def open_source(source: Source, *, progress: bool | None) -> Trace | TraceFile:
    """Return a trace to replay. A trace file is read during the replay, whatever its length."""
    if isinstance(source, Trace | TraceFile):
        return source
    with any_progress(catalogue.as_path(source).name, 1.0, shown=progress) as bar:
        return catalogue.open_source(source, progress=bar)


def open_sources(sources: Source | Iterable[Source], *, progress: bool | None) -> list[EventSource]:
    """Return one or more traces to replay."""
    given = [sources] if isinstance(sources, (Trace, TraceFile)) else listed(sources)
    opened: list[EventSource] = [open_source(source, progress=progress) for source in given]
    if not opened:
        raise SimallocError("no traces are given; give at least one")
    return opened
