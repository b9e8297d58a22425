"""Traces through real allocators as rows: a table for people, and one with every figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from simalloc.report.table import Rounded, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.heap.footprint import Footprint
    from simalloc.heap.real import NativeRun


def native_table(runs: Sequence[NativeRun]) -> Table:
    """Return a row a run: memory in bytes, by peak live bytes, and nanoseconds an event."""
    return Table(
        "Real allocators",
        (
            "trace",
            "allocator",
            "threads",
            "peak live",
            "mapped",
            "at end",
            "mean",
            "resident",
            "at end",
            "mean",
            "at start",
            "mapped/live",
            "resident/live",
            "ns/event",
        ),
        [
            (
                run.trace,
                run.allocator,
                run.threads,
                run.max_live_bytes,
                *(
                    figure
                    for of in (run.mapped, run.resident)
                    for figure in (int(of.peak_bytes), int(of.final_bytes), _whole(of.mean_bytes))
                ),
                run.start.resident,
                _rounded(_by_live(run, run.mapped)),
                _rounded(_by_live(run, run.resident)),
                _rounded(run.nanoseconds),
            )
            for run in runs
        ],
        (
            "Bytes at their peaks, at the end and as means over all events,",
            "less those of a process that never calls malloc. Mapped: got from the system to be",
            "written to. At start: resident once the library is loaded.",
            *_of_one_thread(runs),
        ),
    )


def _of_one_thread(runs: Sequence[NativeRun]) -> tuple[str, ...]:
    """Return a note on the traces whose threads are not known."""
    names = dict.fromkeys(run.trace for run in runs if not run.threads_known)
    if not names:
        return ()
    return (f"One thread replayed what does not tell its threads: {', '.join(names)}.",)


def native_records_table(runs: Sequence[NativeRun]) -> Table:
    """Return a row a run with every figure, for JSON and CSV."""
    kinds = ("mapped", "resident")
    return Table(
        "Real allocators",
        (
            "trace",
            "allocator",
            "library",
            "touch",
            "events",
            "threads",
            "threads_known",
            "max_live_bytes",
            *(f"{when}_{kind}_bytes" for kind in kinds for when in ("peak", "final", "mean")),
            *(f"{kind}_bytes_at_max_live" for kind in kinds),
            "peak_space_bytes",
            "start_mapped_bytes",
            "start_resident_bytes",
            "mapped_to_live",
            "resident_to_live",
            "nanoseconds",
            "passes",
        ),
        [
            (
                run.trace,
                run.allocator,
                run.library,
                run.touch,
                run.events,
                run.threads,
                run.threads_known,
                run.max_live_bytes,
                *(
                    figure
                    for of in (run.mapped, run.resident)
                    for figure in (int(of.peak_bytes), int(of.final_bytes), _or_none(of.mean_bytes))
                ),
                int(run.mapped.bytes_at_max_live),
                int(run.resident.bytes_at_max_live),
                run.peak_space,
                *run.start,
                _by_live(run, run.mapped),
                _by_live(run, run.resident),
                run.nanoseconds,
                len(run.seconds),
            )
            for run in runs
        ],
    )


def _by_live(run: NativeRun, footprint: Footprint) -> float | None:
    return footprint.peak_bytes / run.max_live_bytes if run.max_live_bytes else None


def _or_none(mean: float) -> float | None:
    return None if math.isnan(mean) else mean


def _whole(mean: float) -> int | None:
    return None if math.isnan(mean) else round(mean)


def _rounded(value: float | None) -> Rounded | None:
    return None if value is None else Rounded(value, 2)
