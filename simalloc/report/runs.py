"""Runs as tables, and as records for other programs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from simalloc.errors import SimallocError
from simalloc.heap import Run, fragmentation
from simalloc.heap.fragmentation import MEASURES
from simalloc.heap.quantity import (
    NAMES,
    Quantity,
    bytes_of_fragmentation,
    footprint,
    worst,
)
from simalloc.heap.run_figures import footprint_figures
from simalloc.plural import counted
from simalloc.policy import spell
from simalloc.policy.families.planner import Planner
from simalloc.report.at_start import start_notes
from simalloc.report.table import Table, Value
from simalloc.report.units import MAX_SHOWN, bounded_percent
from simalloc.sizes import spell_bytes

if TYPE_CHECKING:
    from simalloc.measure import Waste

MEASURES_NOTES: Final = (
    "#1: mean of heap/live - 1. #2: heap/live - 1 at peak live. #3: heap/live - 1 at peak heap.",
    "#4: peak heap / peak live - 1. Bytes are divided by the scale.",
)

LARGEST_FREE_NOTES: Final = (
    "Largest free block after each event: minimum, mean over the events, and final size. Under a",
    "capacity the bytes that can still be mapped count as one block. Bytes are divided by scale.",
)

_NAMED: Final = 6
"""Maximum number of policies that a note names. Further policies are only counted."""

_TIMED: Final = 1e-3
"""Minimum duration in seconds of a replay whose speed is shown; shorter times are noise."""

_BY_NUMBER: Final = {f"#{number}": f"fragmentation_{number}" for number in MEASURES}


def sorted_runs(
    runs: Iterable[Run], by: str, *, of: Quantity = "mapped", reverse: bool = False
) -> list[Run]:
    """Return runs in order of a measure, `#1` to `#4`, or of any column of `flat_record`.

    The minimum comes first. In every order, runs that refused requests follow runs without a
    refusal, and stopped runs follow finished runs. Within each of these groups, runs without a
    value come last. Raises `SimallocError` for a column that does not exist.
    """
    records = [(flat_record(run, of), run) for run in runs]
    column = _BY_NUMBER.get(by, by)
    if records and column not in records[0][0]:
        known = ", ".join((*_BY_NUMBER, *records[0][0]))
        raise SimallocError(f"unknown column {by!r}; choose one of {known}")
    defined = [(record[column], run) for record, run in records if record[column] is not None]
    defined.sort(key=lambda row: row[0], reverse=reverse)
    others = [run for record, run in records if record[column] is None]
    return sorted([*(run for _, run in defined), *others], key=incompleteness)


def incompleteness(run: Run) -> tuple[bool, bool]:
    """Return the first sort key of a run: whether it was stopped, and whether it has refusals."""
    return not run.finished, run.refused > 0


def record(run: Run, of: Quantity = "mapped") -> dict[str, Any]:
    """Return a run as plain values, ready for JSON; undefined values (nan) become None."""
    measures, at_start = fragmentation(run, bytes_of_fragmentation(of)), run.live_at_start
    fields: dict[str, Any] = {
        "trace": run.trace,
        "policy": run.policy.name,
        "parameters": run.policy.parameters,
        "scale": run.scale,
        "realloc": run.realloc.value,
        "events": run.events,
        "objects": run.objects,
        "threads": run.replayed_threads,
        "trace_threads": run.threads,
        "peak_heap_bytes": run.peak_heap_bytes,
        "final_heap_bytes": run.final_heap_bytes,
        "max_live_bytes": run.max_live_bytes,
        "final_live_bytes": run.final_live_bytes,
        "live_bytes_at_peak_heap": run.live_bytes_at_peak_heap,
        "heap_bytes_at_max_live": run.heap_bytes_at_max_live,
        **(footprint_figures(run, "resident") if run.resident else {}),
        **(footprint_figures(run, "largest-free") if run.largest_free else {}),
        "fragmentation": {number: measures[int(number)] for number in MEASURES},
        "fragmentation_1_by_bytes": measures.mean_by_bytes,
        "capacity_bytes": run.capacity_bytes,
        "finished": run.finished,
        "refused": run.refused,
        "first_refused_event": run.first_refused_event,
        "largest_free_bytes_when_refused": run.largest_free_bytes_when_refused,
        "seconds": run.seconds,
        **asdict(run.counters),
        "bound_bytes": run.bound_bytes,
        "lower_bound_bytes": run.lower_bound_bytes,
        "found": None if run.found is None else str(run.found),
        **(asdict(run.device) if run.device else {}),
        **({"live_at_start_bytes": at_start.bytes} if at_start.objects else {}),
    }
    plain: dict[str, Any] = _plain(fields)
    return plain


def flat_record(run: Run, of: Quantity = "mapped") -> dict[str, Any]:
    """Return the values of `record` in one level.

    The measures are `fragmentation_1` to `fragmentation_4`. The policy includes its parameters.
    """
    fields = record(run, of)
    measures = fields.pop("fragmentation")
    del fields["parameters"]
    fields.pop("memory_stats", None)
    fields["policy"] = spell(run.policy)
    return {**fields, **{f"fragmentation_{number}": measures[number] for number in MEASURES}}


def runs_table(runs: Sequence[Run], *, of: Quantity = "mapped", speed: bool = True) -> Table:
    """Return a table with a row per run: the measures in percent, and bytes.

    The measures apply to the mapped or resident bytes, as `of` states. For the largest free block,
    the table has its minimum, mean and final size instead. If scale or mechanism differ between
    the runs, the table has columns for them. If `speed`, the last column is the time per event of
    the replay, which varies from run to run; it is empty for a run of less than a millisecond.
    """
    is_measured = of != "largest-free"
    measures = MEASURES if is_measured else ()
    held = bytes_of_fragmentation(of)
    columns: dict[str, list[Value]] = {
        "trace": [run.trace for run in runs],
        "policy": [spell(run.policy) for run in runs],
        **_differing(runs),
        **{f"#{number} %": [_percent(run, of, int(number)) for run in runs] for number in measures},
        **({} if is_measured else _largest_columns(runs)),
        NAMES[held]: [worst(run, held).bytes for run in runs],
        "peak live": [run.max_live_bytes for run in runs],
        **({"refused": [run.refused for run in runs]} if any(run.refused for run in runs) else {}),
    }
    if of == "resident":
        columns["final resident"] = [footprint(run, of).final_bytes for run in runs]
    if speed and any(run.seconds >= _TIMED for run in runs):
        columns["ns/event"] = [_nanoseconds(run) for run in runs]
    rows = list(zip(*columns.values(), strict=True))
    found = tuple(
        f"{spell(run.policy)} of {run.trace}: {run.found}."
        for run in runs
        if run.found is not None and not isinstance(run.policy.description, Planner)
    )
    out = tuple(refusal_note(run) for run in runs if run.refused)
    title, meaning = (
        ("Fragmentation", MEASURES_NOTES)
        if is_measured
        else ("Largest free block", LARGEST_FREE_NOTES)
    )
    notes = (*meaning, *start_notes(runs), *threads_notes(runs), *found, *out)
    return Table(title, list(columns), rows, notes)


def _largest_columns(runs: Sequence[Run]) -> dict[str, list[Value]]:
    """Return the columns of the largest free block, in bytes."""
    series = [footprint(run, "largest-free") for run in runs]
    return {
        "min largest free": [round(one.min_bytes) for one in series],
        "mean largest free": [round(one.mean_bytes) for one in series],
        "final largest free": [round(one.final_bytes) for one in series],
    }


def refusal_note(run: Run) -> str:
    """Return a sentence about the refused requests of a run."""
    name = f"{spell(run.policy)} of {run.trace}"
    largest = spell_bytes(run.refusals.largest_free_bytes)
    if run.finished:
        return (
            f"{name}: {counted(run.refused, 'request')} refused, the first at event "
            f"{run.first_refused_event:,}, when the largest free block had {largest}."
        )
    returned = run.device.retries if run.device is not None else 0
    tried = f" Cached memory was returned {counted(returned, 'time')}." if returned else ""
    return (
        f"{name}: out of memory at event {run.first_refused_event:,}, where the run ends; the "
        f"largest free block had {largest}.{tried}"
    )


def threads_notes(runs: Iterable[Run | Waste]) -> tuple[str, ...]:
    """Return a sentence for each trace whose threads were replayed as a single thread."""
    alike: dict[tuple[str, int], list[str]] = {}
    for run in runs:
        if run.replayed_threads < run.threads:
            name = run.policy if isinstance(run.policy, str) else spell(run.policy)
            alike.setdefault((run.trace, run.threads), []).append(name)
    return tuple(
        f"{trace} has {threads} threads. They are replayed as one thread under {_listed(names)}."
        for (trace, threads), names in alike.items()
    )


def _listed(names: Sequence[str]) -> str:
    """Return names for a sentence: all, or the first ones and the number of the others."""
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {counted(len(names) - _NAMED, 'other')}"


def runs_records_table(runs: Sequence[Run], of: Quantity = "mapped") -> Table:
    """Return a table with all figures of each run, for CSV."""
    records = [flat_record(run, of) for run in runs]
    columns = tuple(dict.fromkeys(name for each in records for name in each))
    return Table("Runs", columns, [tuple(row.get(name) for name in columns) for row in records])


def _differing(runs: Sequence[Run]) -> dict[str, list[Value]]:
    """Return the columns of options that differ between the runs."""
    columns: dict[str, list[Value]] = {
        "scale": [run.scale for run in runs],
        "realloc": [run.realloc.value for run in runs],
        "mechanism": ["on" if run.policy.description.mechanism else "off" for run in runs],
    }
    return {name: values for name, values in columns.items() if len(set(values)) > 1}


def _percent(run: Run, of: Quantity, number: int) -> float | None:
    fraction = fragmentation(run, of)[number]
    percent: float | None = _plain(100 * fraction)
    return bounded_percent(fraction) if fraction > MAX_SHOWN else percent


def _nanoseconds(run: Run) -> float | None:
    return 1e9 * run.seconds / run.events if run.seconds >= _TIMED else None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) >= 1 else value
    return value
