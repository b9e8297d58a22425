"""Differences of the measured heaps from print, for each allocator."""

from __future__ import annotations

from statistics import median

from experiments.comparison import Comparison
from experiments.detlefs.heaps import table_9, table_10
from experiments.detlefs.measuring import Results
from experiments.detlefs.paper import NEAR, PAPER, SAME_RUN
from experiments.mallocs import at_hand
from simalloc.report import Rounded, Table
from simalloc.report.table import Value


def ratios(comparison: Comparison, allocator: str) -> dict[str, float]:
    """Return the ratio of measured to printed figure, by program."""
    return {
        program: here / printed
        for program, column, printed, here in comparison.pairs()
        if column == allocator
    }


def agreement_table(results: Results) -> Table:
    """Return one row per allocator: table 9 on the paper's own runs, table 10 on all programs."""
    ninth, tenth = (table(results) for table in (table_9, table_10))
    rows: list[tuple[Value, ...]] = []
    for name in at_hand(PAPER):
        heaps = [r for program, r in ratios(ninth, name).items() if program in SAME_RUN]
        quotients = list(ratios(tenth, name).values())
        rows.append((PAPER.label(name), *_spread(heaps), *_spread(quotients)))
    columns = [
        f"{what}\n{table}"
        for table in ("table 9, same runs", "table 10, all")
        for what in ("minimum", "median", "maximum", "near")
    ]
    note = f"Near: within {100 * NEAR:.0f} % of print."
    return Table("Measured over printed", ("allocator", *columns), rows, (note,))


def _spread(values: list[float]) -> tuple[Value, ...]:
    """Return the minimum, the median and the maximum, and the number of values near 1."""
    if not values:
        return None, None, None, None
    shown = (Rounded(value, 2) for value in (min(values), median(values), max(values)))
    near = sum(abs(value - 1) <= NEAR for value in values)
    return (*shown, f"{near} of {len(values)}")
