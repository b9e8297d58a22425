"""Mallocs and their settings as a table, and as records for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.heap import Footprint
    from simalloc.measure.settings import Recorded, Setting


def settings_table(trace: str, settings: Sequence[Setting]) -> Table:
    """Return a row a setting: its resident bytes, and what it costs."""
    columns = (
        "malloc", "settings", "peak resident", "mean resident", "final resident", "peak mapped",
        "calls", "faults",
    )  # fmt: skip
    rows = [
        (
            one.candidate.allocator,
            one.candidate.settings or "default",
            one.resident.peak_bytes,
            one.resident.mean_bytes,
            one.resident.final_bytes,
            one.run.mapped.peak_bytes,
            one.run.costs.system_calls if one.run.costs else None,
            one.run.costs.faults if one.run.costs else None,
        )
        for one in settings
    ]
    notes = (
        "Models of the mallocs, headers and tables included; bytes of pages of 4 KiB.",
        "calls: to the kernel, for memory or to give it back; faults: pages made resident.",
    )
    return Table(trace, columns, rows, notes)


def settings_records(trace: str, settings: Sequence[Setting]) -> list[dict[str, object]]:
    """Return a record a setting, for JSON."""
    return [
        {
            "trace": trace,
            "allocator": one.candidate.allocator,
            "settings": one.candidate.settings or "default",
            **_bytes("mapped", one.run.mapped),
            **_bytes("resident", one.resident),
            "max_live_bytes": one.run.max_live_bytes,
            "final_live_bytes": one.run.final_live_bytes,
            "system_calls": one.run.costs.system_calls if one.run.costs else None,
            "faults": one.run.costs.faults if one.run.costs else None,
            "line": one.candidate.line,
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
    measured = f"{int(real.max()):,} bytes resident at the peak, {int(real[-1]):,} at the end"
    modelled = f"{now.resident.peak_bytes:,.0f} and {now.resident.final_bytes:,.0f}"
    return [
        f"The process, recorded under {served}: {measured},",
        f"its code, stacks and libraries included; the model: {modelled}.",
    ]


def _bytes(what: str, footprint: Footprint) -> dict[str, float]:
    return {
        f"peak_{what}_bytes": footprint.peak_bytes,
        f"mean_{what}_bytes": footprint.mean_bytes,
        f"final_{what}_bytes": footprint.final_bytes,
    }
