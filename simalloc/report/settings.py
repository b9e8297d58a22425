"""Mallocs and their settings as a table, and as records for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.advice import Advice, Recorded, Setting, counted
from simalloc.heap import Footprint, Run
from simalloc.heap.real import NativeRun
from simalloc.report.statistics import bars
from simalloc.report.table import Table, Value
from simalloc.report.units import spell_bytes

_BARS: Final = 60
"""Bars that a line over time is made of."""

_AT_ONCE: Final = (
    "at once: of the requests, those that want an arena less than a microsecond after another "
    "thread."
)
_UNWRITTEN: Final = (
    "The process held less than the model, which takes all that is asked for to be written: it did "
    "not write all of it, or had it for a moment only."
)
_NO_TIMES: Final = (
    "Recorded without --times, the trace does not say how often threads want one arena at once."
)


def settings_table(
    trace: str,
    settings: Sequence[Setting],
    *,
    possible: Run | None = None,
    natives: Sequence[NativeRun] = (),
) -> Table:
    """Return a row a setting: its resident bytes, and what it costs.

    Live bytes and, where it is known, the `possible` heap of one who knows the future come first.
    `natives` are real mallocs at their defaults, whose time stands in the rows of their models.
    """
    real = {run.allocator: run.nanoseconds for run in natives}
    named: dict[str, list[Value]] = {
        "malloc": [one.candidate.allocator for one in settings],
        "settings": [one.candidate.shown_settings for one in settings],
        "peak resident": [one.resident.peak_bytes for one in settings],
        "mean resident": [one.resident.mean_bytes for one in settings],
        "final resident": [one.resident.final_bytes for one in settings],
        "peak mapped": [one.run.mapped.peak_bytes for one in settings],
        "calls": [one.run.costs.system_calls if one.run.costs else None for one in settings],
        "faults": [one.run.costs.faults if one.run.costs else None for one in settings],
    }
    optional: dict[str, list[Value]] = {
        "at once %": [None if one.at_once is None else 100 * one.at_once for one in settings],
        "really ns/event": [real.get(one.candidate.name) for one in settings],
    }
    has_threads = any(one.run.threads > 1 for one in settings)
    known = {
        name: values
        for name, values in optional.items()
        if any(value is not None for value in values) and (has_threads or name != "at once %")
    }
    columns = {**named, **known}
    rest = [None] * (len(columns) - 5)
    live: list[Sequence[Value]] = []
    if settings:
        run = settings[0].run
        live = [
            ("live bytes", "", run.max_live_bytes, _mean_live(run), run.final_live_bytes, *rest)
        ]
    if possible is not None:
        live.append(("best possible", "", possible.peak_heap_bytes, None, None, *rest))
    notes = (
        "Models of the mallocs, headers and tables included; bytes of pages of 4 KiB.",
        "calls: to the kernel, for memory or to give it back; faults: pages made resident.",
        *([_AT_ONCE] if "at once %" in columns else []),
        *([_at_start(natives)] if natives else []),
        *([_NO_TIMES] if has_threads and "at once %" not in columns else []),
    )
    return Table(trace, list(columns), [*live, *zip(*columns.values(), strict=True)], notes)


def _at_start(natives: Sequence[NativeRun]) -> str:
    """Say what real mallocs hold before anything is asked for, which no model counts."""
    taken = ", ".join(f"{run.allocator} {spell_bytes(run.start.resident)}" for run in natives)
    return f"Before the first request the real ones hold more, which is not counted here: {taken}."


def _mean_live(run: Run) -> float:
    """Return the mean of the live bytes over the events, as near as the timeline has it."""
    line = run.mapped.timeline
    return float((line.live_low + line.live_high).mean() / 2) if len(line.live_low) else 0.0


def footprints_table(
    settings: Sequence[Setting], advice: Advice, natives: Sequence[NativeRun]
) -> Table:
    """Return what is live, resident and mapped under what is used now and the best of each malloc.

    Real mallocs that have replayed the trace stand below the models.
    """
    now = "now" if advice.is_known else ""
    shown: dict[int, tuple[str, Setting]] = {id(advice.now): (now, advice.now)}
    for allocator in dict.fromkeys(one.candidate.allocator for one in settings):
        of_it = [one for one in settings if one.candidate.allocator == allocator]
        best = min(of_it, key=lambda one: counted(one, at_end=advice.at_end))
        shown.setdefault(id(best), ("best of it", best))
    both = advice.best is advice.now and advice.is_known
    shown[id(advice.best)] = ("now, the best" if both else "best", advice.best)
    run = advice.now.run
    rows: list[Sequence[Value]] = [
        ("live bytes", "", *_bytes_of(run.max_live_bytes, _mean_live(run), run.final_live_bytes),
         None, None)
    ]  # fmt: skip
    rows += [
        (one.candidate.name, why, *_spelled(one.resident), *_spelled(one.run.mapped)[::2])
        for why, one in shown.values()
    ]
    rows += [
        (
            f"{native.allocator}, really",
            f"at its start {spell_bytes(native.start.resident)}",
            *_spelled(native.resident),
            *_spelled(native.mapped)[::2],
        )
        for native in natives
    ]
    columns = (
        "malloc", "", "peak resident", "mean resident", "final resident", "peak mapped",
        "final mapped",
    )  # fmt: skip
    return Table("", columns, rows)


def _spelled(footprint: Footprint) -> tuple[str, ...]:
    return _bytes_of(footprint.peak_bytes, footprint.mean_bytes, footprint.final_bytes)


def _bytes_of(*numbers: float) -> tuple[str, ...]:
    return tuple(spell_bytes(number) for number in numbers)


def settings_records(trace: str, settings: Sequence[Setting]) -> list[dict[str, object]]:
    """Return a record a setting, for JSON."""
    return [
        {
            "trace": trace,
            "allocator": one.candidate.allocator,
            "version": one.run.policy.parameters.get("version"),
            "settings": one.candidate.shown_settings,
            **_bytes("mapped", one.run.mapped),
            **_bytes("resident", one.resident),
            "max_live_bytes": one.run.max_live_bytes,
            "final_live_bytes": one.run.final_live_bytes,
            "system_calls": one.run.costs.system_calls if one.run.costs else None,
            "faults": one.run.costs.faults if one.run.costs else None,
            "at_once": one.at_once,
            "line": one.line,
        }
        for one in settings
    ]


def settings_records_table(records: Sequence[dict[str, object]]) -> Table:
    """Return the records as a table, for CSV."""
    columns = list(records[0]) if records else []
    rows = [[record[name] for name in columns] for record in records]
    return Table("Settings", columns, rows)  # type: ignore[arg-type]


def model_beside_real(settings: Sequence[Setting], process: Recorded) -> list[str]:
    """Return lines that lay the recorded process beside the model of the malloc that it used."""
    now = next((one for one in settings if one.candidate.name == process.allocator), None)
    if not process.has_samples or now is None:
        return []
    real = process.resident
    served = f"{process.allocator} {process.version}".rstrip()
    served += " with PYTHONMALLOC=malloc" if now.candidate.python else ""
    measured = f"{int(real.max()):,} bytes resident at the peak, {int(real[-1]):,} at the end"
    modelled = f"{now.resident.peak_bytes:,.0f} and {now.resident.final_bytes:,.0f}"
    line = now.resident.timeline
    events = line.interval * np.arange(len(line.heap_high))
    over_time = _most_in_spans(process.event, real, now.run.events)
    model = _most_in_spans(events, line.heap_high, now.run.events)
    top = max(*over_time, *model)
    return [
        f"The process, recorded under {served}: {measured},",
        f"its code, stacks and libraries included; the model: {modelled}.",
        f"  the process  {bars(over_time, top)}",
        f"  the model    {bars(model, top)}",
        *([_UNWRITTEN] if real.max() < now.resident.peak_bytes else []),
    ]


def _most_in_spans(
    event: NDArray[np.int64], bytes_from: NDArray[np.generic], events: int
) -> list[float]:
    """Return the most in each of `_BARS` spans of the events, of what is so from an event on."""
    edges = np.linspace(0, events, _BARS + 1)
    first = np.maximum(np.searchsorted(event, edges[:-1], "right") - 1, 0)
    last = np.maximum(np.searchsorted(event, edges[1:], "right"), first + 1)
    return [float(bytes_from[one:end].max()) for one, end in zip(first, last, strict=True)]


def _bytes(what: str, footprint: Footprint) -> dict[str, float]:
    return {
        f"peak_{what}_bytes": footprint.peak_bytes,
        f"mean_{what}_bytes": footprint.mean_bytes,
        f"final_{what}_bytes": footprint.final_bytes,
    }
