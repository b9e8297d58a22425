"""Traces through real allocators as rows: a table for people, and one with every figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.report.table import Rounded, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.heap.real import NativeRun


def native_table(runs: Sequence[NativeRun]) -> Table:
    """Return a row a run: memory in bytes, by peak live bytes, and nanoseconds an event."""
    return Table(
        "Real allocators",
        (
            "trace",
            "allocator",
            "peak live",
            "mapped",
            "resident",
            "at start",
            "mapped/live",
            "resident/live",
            "ns/event",
        ),
        [
            (
                run.trace,
                run.allocator,
                run.max_live_bytes,
                run.peak.mapped,
                run.peak.resident,
                run.start.resident,
                _rounded(_by_live(run, run.peak.mapped)),
                _rounded(_by_live(run, run.peak.resident)),
                _rounded(run.nanoseconds),
            )
            for run in runs
        ],
        (
            "Bytes at their peaks, less those of a process that never calls malloc. Mapped:",
            "address space, reserved or in use. At start: resident once the library is loaded.",
        ),
    )


def native_records_table(runs: Sequence[NativeRun]) -> Table:
    """Return a row a run with every figure, for JSON and CSV."""
    return Table(
        "Real allocators",
        (
            "trace",
            "allocator",
            "library",
            "touch",
            "events",
            "max_live_bytes",
            "peak_mapped_bytes",
            "peak_resident_bytes",
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
                run.max_live_bytes,
                *run.peak,
                *run.start,
                _by_live(run, run.peak.mapped),
                _by_live(run, run.peak.resident),
                run.nanoseconds,
                len(run.seconds),
            )
            for run in runs
        ],
    )


def _by_live(run: NativeRun, amount: int) -> float | None:
    return amount / run.max_live_bytes if run.max_live_bytes else None


def _rounded(value: float | None) -> Rounded | None:
    return None if value is None else Rounded(value, 2)
