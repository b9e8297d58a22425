"""Mallocs and their settings as tables, and as records for other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.advice import Advice, Machine, Moment, Recorded, Setting
from simalloc.heap import Footprint, Run
from simalloc.heap.real import NativeRun
from simalloc.report.statistics import bars
from simalloc.report.table import Rounded, Table, Value
from simalloc.sizes import spell_bytes, spell_mib

_BARS: Final = 60
"""Number of bars in a line over time."""

_WIDTH: Final = 100

_MIB: Final = 1 << 20

_MOMENTS: Final = (
    "Resident heap memory in MiB, including headers, tables and static data of the malloc library.",
    "unused: resident memory at the event with the most unused memory under the current malloc.",
    "Unused memory is resident but not live.",
    "mean: average over time (over events if the trace has no times).",
)
_POSSIBLE: Final = "best possible: the smallest heap if all requests are known in advance."
_RARE: Final = (
    "calls: system calls that map, unmap or purge memory, or move the break.\n"
    "faults: pages that became resident."
)
_COSTS: Final = (
    "CPU %: estimated additional cost in percent of the program's CPU time.\n"
    "The real cost is at most twice as high."
)
_AT_ONCE: Final = (
    "contended: percentage of requests that reach an arena within 1 us of another thread's request."
)
_UNWRITTEN: Final = (
    "The process held less than its heap in the model. The model assumes that every requested byte "
    "is written. The program left bytes unwritten, or freed them between two samples."
)
_NO_TIMES: Final = "Arena contention is unknown because the trace was recorded without --times."


def settings_table(
    trace: str,
    settings: Sequence[Setting],
    *,
    machine: Machine | None = None,
    possible: Run | None = None,
    natives: Sequence[NativeRun] = (),
    wide: bool = False,
) -> Table:
    """Return a table with a row per setting: its resident bytes in MiB, and its cost.

    The first rows are the live bytes and, if known, the `possible` heap of offline placement. The
    rows of models contain the times of `natives`, the real mallocs at their defaults. A `wide`
    table also has mapped bytes, system calls and page faults.
    """
    spelled = _in_mib(settings)
    columns = _bytes_columns(settings, spelled)
    if wide:
        columns |= _rare_columns(settings, spelled)
    columns |= _known_columns(settings, natives)
    rows = [
        *_live_rows(settings, possible, spelled, len(columns)),
        *zip(*columns.values(), strict=True),
    ]
    has_threads = any(one.run.threads > 1 for one in settings)
    notes = (
        *([machine.text] if machine else []),
        *_MOMENTS,
        *([_POSSIBLE] if possible else []),
        *([_RARE] if wide else []),
        *([_COSTS] if "CPU %" in columns else []),
        *([_AT_ONCE] if "contended" in columns else []),
        *([_at_start(natives)] if natives else []),
        *([_NO_TIMES] if has_threads and "contended" not in columns else []),
    )
    return Table(trace, list(columns), rows, notes, width=_WIDTH)


_Columns = dict[str, list[Value]]


def _in_mib(settings: Sequence[Setting]) -> Callable[[float], Rounded]:
    """Return a function from bytes to MiB, with as many decimals as the largest peak needs."""
    top = max([one.peak_bytes for one in settings], default=0.0)
    return lambda size: Rounded(size / _MIB, 2 if top < 100 * _MIB else 1)


def _bytes_columns(settings: Sequence[Setting], mib: Callable[[float], Rounded]) -> _Columns:
    return {
        "malloc": [one.candidate.allocator for one in settings],
        "settings": [one.candidate.shown_settings for one in settings],
        "peak": [mib(one.moments[Moment.PEAK]) for one in settings],
        "unused": [mib(one.moments[Moment.UNUSED]) for one in settings],
        "mean": [mib(one.moments[Moment.MEAN]) for one in settings],
        "final": [mib(one.final_bytes) for one in settings],
    }


def _rare_columns(settings: Sequence[Setting], mib: Callable[[float], Rounded]) -> _Columns:
    return {
        "peak mapped": [mib(one.run.mapped.peak_bytes) for one in settings],
        "calls": [one.run.costs.system_calls if one.run.costs else None for one in settings],
        "faults": [one.run.costs.faults if one.run.costs else None for one in settings],
    }


def _known_columns(settings: Sequence[Setting], natives: Sequence[NativeRun]) -> _Columns:
    """Return the cost columns that have a value. Contention needs a trace with threads."""
    real = {run.allocator: run.nanoseconds for run in natives}
    has_threads = any(one.run.threads > 1 for one in settings)
    columns: _Columns = {
        "CPU %": [_percent(one.cost.share) for one in settings],
        "contended": [_percent(one.at_once) if has_threads else None for one in settings],
        "measured ns/event": [real.get(one.candidate.name) for one in settings],
    }
    return {name: cells for name, cells in columns.items() if any(c is not None for c in cells)}


def _live_rows(
    settings: Sequence[Setting],
    possible: Run | None,
    mib: Callable[[float], Rounded],
    columns: int,
) -> list[Sequence[Value]]:
    """Return the rows of the live bytes and, if known, of the best possible heap."""
    rows: list[Sequence[Value]] = []
    rest: list[Value] = [None] * (columns - 6)
    if settings:
        run, live = settings[0].run, settings[0].live
        sizes = (
            mib(run.max_live_bytes),
            mib(live[Moment.UNUSED]),
            mib(live[Moment.MEAN]),
            mib(run.final_live_bytes),
        )
        rows.append(("", "live", *sizes, *rest))
    if possible is not None:
        most = mib(possible.peak_heap_bytes)
        rows.append(("", "best possible", most, None, None, None, *rest))
    return rows


def _percent(share: float | None) -> Rounded | None:
    return None if share is None else Rounded(100 * share, 1)


def _at_start(natives: Sequence[NativeRun]) -> str:
    """Return a sentence on the memory of real mallocs before the first request."""
    taken = ", ".join(f"{run.allocator} {spell_bytes(run.start.resident)}" for run in natives)
    return f"Resident memory of the real allocators before the first request: {taken}."


def footprints_table(
    settings: Sequence[Setting], advice: Advice, natives: Sequence[NativeRun]
) -> Table:
    """Return live, resident and mapped bytes of the present setting and of each malloc at its best.

    The rows of real mallocs that have replayed the trace follow the models.
    """
    now = "current" if advice.is_known else "assumed"
    shown: dict[int, tuple[str, Setting]] = {id(advice.now): (now, advice.now)}
    for allocator in dict.fromkeys(one.candidate.allocator for one in settings):
        of_it = [one for one in settings if one.candidate.allocator == allocator]
        best = min(of_it, key=lambda one: one.moments[advice.moment])
        shown.setdefault(id(best), ("best setting of this malloc", best))
    both = advice.best is advice.now
    shown[id(advice.best)] = (
        f"{now}, no change recommended" if both else "recommended",
        advice.best,
    )
    run, mean = advice.now.run, advice.now.live[Moment.MEAN]
    rows: list[Sequence[Value]] = [
        ("live bytes", "", *_bytes_of(run.max_live_bytes, mean, run.final_live_bytes),
         None, None, None)
    ]  # fmt: skip
    rows += [
        (
            one.candidate.name,
            why,
            *_bytes_of(one.peak_bytes, one.moments[Moment.MEAN], one.final_bytes),
            _against(one.peak_bytes, advice.now.peak_bytes),
            *_spelled(one.run.mapped)[::2],
        )
        for why, one in shown.values()
    ]
    rows += [
        (
            f"{native.allocator} (measured)",
            f"includes {spell_bytes(native.start.resident)} before the first request",
            *_spelled(native.resident),
            _against(native.resident.peak_bytes, advice.now.peak_bytes),
            *_spelled(native.mapped)[::2],
        )
        for native in natives
    ]
    columns = (
        "malloc", "note", "peak resident", "mean resident", "final resident",
        f"peak relative to {now} malloc",
        "peak mapped", "final mapped",
    )  # fmt: skip
    return Table("", columns, rows)


def _against(peak: float, now: float) -> str | None:
    """Return the difference between a peak and the present peak, in percent with its sign."""
    return f"{round(100 * (peak / now - 1)):+,} %".replace("-", "−") if now else None


def _spelled(footprint: Footprint) -> tuple[str, ...]:
    return _bytes_of(footprint.peak_bytes, footprint.mean_bytes, footprint.final_bytes)


def _bytes_of(*numbers: float) -> tuple[str, ...]:
    return tuple(spell_bytes(number) for number in numbers)


def settings_record(
    trace: str,
    settings: Sequence[Setting],
    advice: Advice,
    machine: Machine,
    process: Recorded,
) -> dict[str, object]:
    """Return all results of a trace and its settings as one object for JSON."""
    return {
        "trace": trace,
        "machine": {
            "cores": machine.cores,
            "cores_source": machine.source,
            "cpu_quota": machine.quota or None,
            "page_bytes": machine.page,
            "transparent_huge_pages": machine.thp or None,
            "overcommit_memory": machine.overcommit if machine.overcommit >= 0 else None,
            "assumed": ["cores"] if machine.source == "assumed" else [],
        },
        "process": _process(process, advice),
        "recommendation": _recommendation(advice),
        "verdict": list(advice.sentences),
        "rows": settings_records(trace, settings),
    }


def _process(process: Recorded, advice: Advice) -> dict[str, object]:
    """Return the measurements of the process itself, or None for those that need samples."""
    sampled = process.has_samples
    share = advice.share
    return {
        "malloc": process.allocator if process.is_named else None,
        "version": process.version or None,
        "built_in": process.built_in or None,
        "peak_resident_bytes": int(process.resident.max()) if sampled else None,
        "final_resident_bytes": int(process.resident[-1]) if sampled else None,
        "peak_malloc_bytes": share.heap if share else None,
        "peak_other_bytes": max(share.process - share.heap, 0) if share else None,
        "malloc_share": share.of_malloc if share else None,
        "kinds": dict(process.kinds),
        "cpu_seconds": process.cpu_seconds,
        "live_at_start": _live_at_start(advice.now.run),
        "mappings": [dict(one) for one in process.mappings],
    }


def _live_at_start(run: Run) -> dict[str, float] | None:
    """Return the live bytes at the start of the recording and their share of the peak, or None."""
    began = run.live_at_start
    if not began.objects:
        return None
    share = began.bytes / max(run.max_live_bytes, 1)
    return {"objects": began.objects, "bytes": began.bytes, "share": share}


def _recommendation(advice: Advice) -> dict[str, object] | None:
    """Return the recommendation, or None."""
    best = advice.best
    if not advice.line:
        return None
    return {
        "allocator": best.candidate.allocator,
        "settings": best.candidate.shown_settings,
        "line": advice.line,
        "saves_bytes": advice.saves,
        "moment": advice.moment.value,
        "moments": [moment.value for moment in advice.moments],
        "cost": {
            "cpu_seconds": best.cost.seconds,
            "max_cpu_seconds": best.cost.max_seconds,
            "cpu_share": best.cost.share,
            "max_cpu_share": best.cost.max_share,
            "page_faults": best.cost.faults,
            "system_calls": best.cost.system_calls,
        },
        "certainty": {
            "variation": advice.spread,
            "contention_known": best.at_once is not None or best.run.threads == 1,
        },
    }


def settings_records(trace: str, settings: Sequence[Setting]) -> list[dict[str, object]]:
    """Return a record for each setting, for JSON and CSV."""
    return [
        {
            "trace": trace,
            "allocator": one.candidate.allocator,
            "version": one.run.policy.parameters.get("version"),
            "settings": one.candidate.shown_settings,
            **_bytes("mapped", one.run.mapped, 0),
            **_bytes("resident", one.resident, one.library_bytes),
            "unused_resident_bytes": one.moments[Moment.UNUSED],
            "time_mean_resident_bytes": one.moments[Moment.MEAN],
            "library_bytes": one.library_bytes,
            "max_live_bytes": one.run.max_live_bytes,
            "final_live_bytes": one.run.final_live_bytes,
            "system_calls": one.run.costs.system_calls if one.run.costs else None,
            "faults": one.run.costs.faults if one.run.costs else None,
            "cost_cpu_seconds": one.cost.seconds,
            "cost_max_cpu_seconds": one.cost.max_seconds,
            "cost_cpu_share": one.cost.share,
            "cost_max_cpu_share": one.cost.max_share,
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
    """Return lines that compare the recorded process with the model of its malloc."""
    now = next((one for one in settings if one.candidate.name == process.allocator), None)
    if not process.has_samples or now is None:
        return []
    real = process.resident
    served = f"{process.allocator} {process.version}".rstrip()
    served += " with PYTHONMALLOC=malloc" if now.candidate.python else ""
    peak, final = spell_mib(int(real.max())), spell_mib(int(real[-1]))
    measured = f"peak {peak}, {final} at the end"
    modelled = f"peak {spell_mib(now.peak_bytes)}, {spell_mib(now.final_bytes)} at the end"
    line = now.resident.timeline
    events = line.interval * np.arange(len(line.heap_high))
    over_time = _most_in_spans(process.event, real, now.run.events)
    model = _most_in_spans(events, line.heap_high, now.run.events)
    top = max(*over_time, *model)
    return [
        f"Measured resident memory of the process ({served}): {measured}.",
        f"Predicted resident memory of its heap: {modelled}. Both bars have the same scale:",
        f"  process  {bars(over_time, top)}",
        f"  heap     {bars(model, top)}",
        *([_UNWRITTEN] if real.max() < now.peak_bytes else []),
    ]


def _most_in_spans(
    event: NDArray[np.int64], bytes_from: NDArray[np.generic], events: int
) -> list[float]:
    """Return the maximum in each of `_BARS` spans. A value is valid from its event on."""
    edges = np.linspace(0, events, _BARS + 1)
    first = np.maximum(np.searchsorted(event, edges[:-1], "right") - 1, 0)
    last = np.maximum(np.searchsorted(event, edges[1:], "right"), first + 1)
    return [float(bytes_from[one:end].max()) for one, end in zip(first, last, strict=True)]


def _bytes(what: str, footprint: Footprint, library: int) -> dict[str, float]:
    return {
        f"peak_{what}_bytes": footprint.peak_bytes + library,
        f"mean_{what}_bytes": footprint.mean_bytes + library,
        f"final_{what}_bytes": footprint.final_bytes + library,
    }
