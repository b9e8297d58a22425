"""Offline placements as rows of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from simalloc.report.table import Rounded, Table

if TYPE_CHECKING:
    from simalloc.bound import Placement

_NOTES: Final = (
    "Sizes are not scaled. A request of 0 bytes counts as 1 byte.",
    "No placement is below the lower bound. Every placement was verified: no live objects overlap.",
    "found: the try that found the placement; `simalloc policies best-possible` lists the tries.",
)


def placements_table(placements: Sequence[tuple[str, Placement]]) -> Table:
    """Return a table with a row for each placement: its name, bounds, heap and proof."""
    columns = ("trace", "peak live", "lower bound", "heap", "above", "status", "seconds", "found")
    rows = [
        (
            name,
            placement.bound,
            placement.lower_bound,
            placement.height,
            placement.height - placement.lower_bound,
            spelled_status(placement),
            Rounded(placement.seconds, 1),
            placement.how + (" (stopped before the end)" if placement.stopped else ""),
        )
        for name, placement in placements
    ]
    return Table("Lowest placements", columns, rows, _NOTES)


def placement_record(name: str, placement: Placement) -> dict[str, Any]:
    """Return the figures of a placement as plain values, ready for JSON."""
    return {
        "trace": name,
        "peak_live_bytes": placement.bound,
        "lower_bound_bytes": placement.lower_bound,
        "heap_bytes": placement.height,
        "status": placement.status,
        "seconds": placement.seconds,
    }


def spelled_status(placement: Placement) -> str:
    """Return the proof in words: "optimal", "within 0.4 %" or "not proven (5.6 %)"."""
    if placement.status == "optimal":
        return "optimal"
    percent = f"{100 * (placement.height / placement.lower_bound - 1):.2g} %"
    return f"within {percent}" if placement.status == "bounded" else f"not proven ({percent})"


def capacity_sentence(name: str, placement: Placement, capacity: int) -> str:
    """Return a sentence on whether a trace fits into a capacity in bytes, and why."""
    fits = placement.fits(capacity)
    if fits:
        return f"{name} fits into {capacity:,} bytes: a placement needs {placement.height:,}."
    if fits is None:
        return (
            f"Not decided: {name} may fit into {capacity:,} bytes. The lowest placement found "
            f"needs {placement.height:,}, and every placement needs at least "
            f"{placement.lower_bound:,}. Try a larger --effort."
        )
    return (
        f"{name} does not fit into {capacity:,} bytes: "
        f"every placement needs at least {placement.lower_bound:,}."
    )
