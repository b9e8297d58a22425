"""Runs as rows: a table for people, and records for other programs."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from simalloc.heap import fragmentation
from simalloc.plural import counted
from simalloc.policy import spell
from simalloc.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.heap import Run
    from simalloc.report.table import Value

MEASURES: Final = ("1", "2", "3", "4")
"""Johnstone & Wilson's, by the numbers that the paper gives them."""

MEASURES_NOTES: Final = (
    "#1 mean of heap/live - 1; #2 the same at peak live; #3 at peak heap;",
    "#4 peak heap / peak live - 1. Bytes are the program's.",
)


def record(run: Run) -> dict[str, Any]:
    """Return a run as plain values, ready for JSON; what is not defined (nan) is None."""
    measures = fragmentation(run)
    fields: dict[str, Any] = {
        "trace": run.trace,
        "policy": run.policy.name,
        "parameters": run.policy.parameters,
        "scale": run.scale,
        "realloc": run.realloc.value,
        "events": run.events,
        "objects": run.objects,
        "peak_heap_bytes": run.peak_heap_bytes,
        "final_heap_bytes": run.final_heap_bytes,
        "max_live_bytes": run.max_live_bytes,
        "final_live_bytes": run.final_live_bytes,
        "live_bytes_at_peak_heap": run.live_bytes_at_peak_heap,
        "heap_bytes_at_max_live": run.heap_bytes_at_max_live,
        "fragmentation": {number: measures[int(number)] for number in MEASURES},
        "fragmentation_1_by_bytes": measures.mean_by_bytes,
        "seconds": run.seconds,
        **asdict(run.counters),
        "bound_bytes": None if run.found is None else run.found.bound_bytes,
        "found": None if run.found is None else str(run.found),
        **(asdict(run.device) if run.device else {}),
    }
    plain: dict[str, Any] = _plain(fields)
    return plain


def flat_record(run: Run) -> dict[str, Any]:
    """Return the same in one level: `fragmentation_1` to `_4`, the policy with its parameters."""
    fields = record(run)
    measures = fields.pop("fragmentation")
    del fields["parameters"]
    fields.pop("memory_stats", None)
    fields["policy"] = spell(run.policy)
    return {**fields, **{f"fragmentation_{number}": measures[number] for number in MEASURES}}


def runs_table(runs: Sequence[Run], *, speed: bool = True) -> Table:
    """Return a row a run, with what most people look for: the measures in percent, and bytes.

    With `speed`, the last column says how fast the replay was, which differs from run to run.
    """
    columns = ["trace", "policy", "#1 %", "#2 %", "#3 %", "#4 %", "peak heap", "peak live"]
    rows: list[Sequence[Value]] = [_row(run) for run in runs]
    if speed:
        columns.append("ns/event")
        rows = [(*row, _nanoseconds(run)) for row, run in zip(rows, runs, strict=True)]
    found = tuple(
        f"{spell(run.policy)} of {run.trace}: {run.found}." for run in runs if run.found is not None
    )
    out = tuple(
        f"{spell(run.policy)} of {run.trace}: out of memory at event "
        f"{run.device.first_oom_event:,}, where the run ends; "
        f"{counted(run.device.retries, 'time')} all was given back to make room."
        for run in runs
        if run.device is not None and run.device.first_oom_event
    )
    return Table("Fragmentation", columns, rows, (*MEASURES_NOTES, *found, *out))


def runs_records_table(runs: Sequence[Run]) -> Table:
    """Return a row a run with every figure, for CSV."""
    records = [flat_record(run) for run in runs]
    columns = tuple(dict.fromkeys(name for each in records for name in each))
    return Table("Runs", columns, [tuple(row.get(name) for name in columns) for row in records])


def _row(run: Run) -> tuple[str | float | None, ...]:
    measures = fragmentation(run)
    percents = [_plain(100 * measures[int(number)]) for number in MEASURES]
    return (run.trace, spell(run.policy), *percents, run.peak_heap_bytes, run.max_live_bytes)


def _nanoseconds(run: Run) -> float | None:
    return 1e9 * run.seconds / run.events if run.events else None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) >= 1 else value
    return value
