"""Best possible placements as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from simalloc.report.table import Table

if TYPE_CHECKING:
    from simalloc.bound import Placement

_NOTES: Final = (
    "Bytes are the program's, and a request of 0 counts 1. No placement is below peak live. Every",
    "placement was verified: no two live objects overlap.",
)


def placements_table(placements: Sequence[tuple[str, Placement]]) -> Table:
    """Return a row a trace, of names and placements: the bound, what was found, and how."""
    columns = ("trace", "peak live", "best possible", "above", "above %", "tries", "found")
    rows = [
        (
            name,
            placement.bound,
            placement.height,
            placement.height - placement.bound,
            100 * (placement.height / placement.bound - 1) if placement.bound else 0.0,
            placement.tries,
            placement.how + (" (stopped before the last try)" if placement.stopped else ""),
        )
        for name, placement in placements
    ]
    return Table("Best possible", columns, rows, _NOTES)
