"""Robson's bounds for first and best fit, as the paper states them (section 5.3)."""

from __future__ import annotations

from typing import Final

from experiments.gabber.measuring import Results
from experiments.gabber.paper import MEGABYTE, PAPER
from experiments.gabber.programs import GENERATED
from simalloc.bound import best_fit_bound, first_fit_bound
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

FIRST_FITS: Final = ("first-fit-ao", "first-fit-lifo")
BEST_FITS: Final = ("best-fit-ao", "best-fit-lifo")

_UNIT: Final = 8
"""Size of the smallest object in bytes; n of the bounds is the largest size in this unit."""


def bounds_table(results: Results) -> Table:
    """Return peak live bytes, the bounds and the largest measured heaps, in MB."""
    rows: list[tuple[Value, ...]] = []
    for key in GENERATED:
        trace = results.traces[key]
        live, largest = float(trace.replayed.live.max()), int(trace.size.max())
        worst = max(
            (outcome.peak_heap, PAPER.label(text.partition(":")[0]))
            for (of, text), outcome in results.outcomes.items()
            if of == key
        )
        rows.append(
            (
                f"{key}, generated, a tenth",
                _megabytes(live),
                *(_megabytes(results.outcomes[key, name].peak_heap) for name in FIRST_FITS),
                _megabytes(first_fit_bound(live, largest, _UNIT)),
                *(_megabytes(results.outcomes[key, name].peak_heap) for name in BEST_FITS),
                _megabytes(best_fit_bound(live, largest, _UNIT)),
                f"{worst[1]}, {worst[0] / MEGABYTE:,.1f}",
            )
        )
    columns = ("", "peak live M", *FIRST_FITS, "M log2 n", *BEST_FITS, "M n", "largest heap")
    note = "n is the largest object in units of 8 bytes; all other figures are megabytes."
    return Table("Robson's bounds, and the peak heaps measured", columns, rows, (note,))


def _megabytes(size: float) -> Value:
    return Rounded(size / MEGABYTE, 1)
