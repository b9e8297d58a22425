"""Timetables from files: traces, logs, and tables of buffers with gaps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.timetable import Pieces, Timetable
from simalloc.trace import Trace
from simalloc.trace.catalogue import find_trace, load
from simalloc.trace.formats import lifetimes
from simalloc.trace.formats.importing import Opened, feed, open_log
from simalloc.trace.formats.lifetimes import Row
from simalloc.trace.formats.lifetimes_table import LifetimesTable, read_table, read_title
from simalloc.trace.formats.log import Batch
from simalloc.trace.intake import Collector
from simalloc.trace.reader import is_trace_file

Ints = NDArray[np.int64]

_ALIGNMENT: Final = ("alignment",)


def load_timetable(
    name_or_path: str | os.PathLike[str], *, progress: Callable[[float], None] = lambda _: None
) -> tuple[str, Timetable]:
    """Return the name and the timetable of a trace or log, with alignments.

    `name_or_path` is resolved as in `load`. Gaps of buffers are kept, although a trace cannot store
    them. `progress` is called with the share of the file read since its last call.
    """
    path = find_trace(name_or_path)
    if not is_trace_file(path):
        with open_log(path) as opened:
            if opened.format is lifetimes.FORMAT:
                name, table, _ = read_lifetimes(opened, path.name.split(".")[0])
                progress(1.0)
                return name, table
    trace = load(path, progress=progress)
    return trace.name, Timetable.of(trace, aligned=True)


def read_lifetimes(opened: Opened, name: str) -> tuple[str, Timetable, Ints | None]:
    """Return the name, the timetable, and the offset of each life (bytes) of an open table.

    The offsets are None if the table lacks the column. Raises `TraceError` if the table is invalid.
    """
    table = read_table(opened.log, *read_title(opened.log))
    batches = lifetimes.batches_of_table(opened.log, table)
    columns = () if table.alignment is None else _ALIGNMENT
    trace = _collected(opened, batches, name, columns)
    lives = np.argsort(table.lower, kind="stable")
    timetable = Timetable.of(trace, aligned=True)
    if table.gaps:
        timetable = replace(timetable, pieces=_pieces(opened, table, np.argsort(lives)))
    return trace.name, timetable, None if table.offset is None else table.offset[lives]


def _collected(
    opened: Opened, batches: Iterator[Batch], name: str, columns: tuple[str, ...] = ()
) -> Trace:
    collector = Collector(columns)
    for batch in batches:
        feed(opened.log, batch, collector)
    return collector.trace(name, opened.provenance)


def _pieces(opened: Opened, table: LifetimesTable, life: Ints) -> Pieces:
    """Return the pieces of all lives; `life` maps each row to the number of its life."""
    uses = sorted(table.uses(), key=lambda use: use.begin)
    rows = [Row(int(table.line[use.row]), use.begin, use.end, use.high - use.low) for use in uses]
    trace = _collected(opened, lifetimes.batches_of(rows), "pieces")
    row, low = np.array([(use.row, use.low) for use in uses], np.int64).T
    return Pieces(Timetable.of(trace), life[row], np.ascontiguousarray(low))
