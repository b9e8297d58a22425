"""Runs of real allocators as tables: a short table, and a table of all figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from simalloc.report.table import Rounded, Table

if TYPE_CHECKING:
    from simalloc.heap.footprint import Footprint
    from simalloc.heap.real import NativeRun

    _Columns = tuple[tuple[str, Callable[[NativeRun], Any]], ...]


_SHORT: Final[_Columns] = (
    ("trace", lambda run: run.trace),
    ("allocator", lambda run: run.allocator),
    ("threads", lambda run: run.threads),
    ("peak live", lambda run: run.max_live_bytes),
    ("mapped", lambda run: int(run.mapped.peak_bytes)),
    ("at end", lambda run: int(run.mapped.final_bytes)),
    ("mean", lambda run: _whole(run.mapped.mean_bytes)),
    ("resident", lambda run: int(run.resident.peak_bytes)),
    ("at end", lambda run: int(run.resident.final_bytes)),
    ("mean", lambda run: _whole(run.resident.mean_bytes)),
    ("at start", lambda run: run.start.resident),
    ("mapped/live", lambda run: _rounded(_by_live(run, run.mapped))),
    ("resident/live", lambda run: _rounded(_by_live(run, run.resident))),
    ("ns/event", lambda run: _rounded(run.nanoseconds)),
)
_ALL: Final[_Columns] = (
    ("trace", lambda run: run.trace),
    ("allocator", lambda run: run.allocator),
    ("library", lambda run: run.library),
    ("touch", lambda run: run.touch),
    ("events", lambda run: run.events),
    ("threads", lambda run: run.threads),
    ("threads_known", lambda run: run.threads_known),
    ("max_live_bytes", lambda run: run.max_live_bytes),
    ("peak_mapped_bytes", lambda run: int(run.mapped.peak_bytes)),
    ("final_mapped_bytes", lambda run: int(run.mapped.final_bytes)),
    ("mean_mapped_bytes", lambda run: _or_none(run.mapped.mean_bytes)),
    ("peak_resident_bytes", lambda run: int(run.resident.peak_bytes)),
    ("final_resident_bytes", lambda run: int(run.resident.final_bytes)),
    ("mean_resident_bytes", lambda run: _or_none(run.resident.mean_bytes)),
    ("mapped_bytes_at_max_live", lambda run: int(run.mapped.bytes_at_max_live)),
    ("resident_bytes_at_max_live", lambda run: int(run.resident.bytes_at_max_live)),
    ("peak_space_bytes", lambda run: run.peak_space),
    ("start_mapped_bytes", lambda run: run.start.mapped),
    ("start_resident_bytes", lambda run: run.start.resident),
    ("mapped_to_live", lambda run: _by_live(run, run.mapped)),
    ("resident_to_live", lambda run: _by_live(run, run.resident)),
    ("nanoseconds", lambda run: run.nanoseconds),
    ("passes", lambda run: len(run.seconds)),
)


def native_table(runs: Sequence[NativeRun]) -> Table:
    """Return a table with a row per run: its memory, and its nanoseconds per event.

    Memory is in bytes, and relative to the peak live bytes.
    """
    notes = (
        "Peak, final and mean bytes, minus the bytes of a process that never calls malloc.",
        "Mapped: writable memory from the system. At start: resident when the library is loaded.",
        *_of_one_thread(runs),
    )
    return _table(runs, _SHORT, notes)


def native_records_table(runs: Sequence[NativeRun]) -> Table:
    """Return a table with all figures of each run, for JSON and CSV."""
    return _table(runs, _ALL)


def _table(runs: Sequence[NativeRun], columns: _Columns, notes: Sequence[str] = ()) -> Table:
    rows = [tuple(figure(run) for _, figure in columns) for run in runs]
    return Table("Real allocators", tuple(name for name, _ in columns), rows, tuple(notes))


def _of_one_thread(runs: Sequence[NativeRun]) -> tuple[str, ...]:
    """Return a note on the traces whose threads are unknown."""
    names = dict.fromkeys(run.trace for run in runs if not run.threads_known)
    if not names:
        return ()
    return (f"Replayed with one thread, because the trace lacks threads: {', '.join(names)}.",)


def _by_live(run: NativeRun, footprint: Footprint) -> float | None:
    return footprint.peak_bytes / run.max_live_bytes if run.max_live_bytes else None


def _or_none(mean: float) -> float | None:
    return None if math.isnan(mean) else mean


def _whole(mean: float) -> int | None:
    return None if math.isnan(mean) else round(mean)


def _rounded(value: float | None) -> Rounded | None:
    return None if value is None else Rounded(value, 2)
