"""The number of bytes in a kilobyte of table 9, inferred from tables 2, 9 and 10."""

from __future__ import annotations

from typing import Final

from experiments.detlefs.paper import KILOBYTE_OF_HEAP, KILOBYTE_OF_REQUESTS, PAPER
from simalloc.report import Table

UNITS: Final = (KILOBYTE_OF_REQUESTS, KILOBYTE_OF_HEAP)
_AVERAGE: Final = "AVERAGE"


def quotients_met(unit: int) -> tuple[int, int]:
    """Return the number of cells of table 10 that a unit of table 9 explains, and of all cells.

    Table 10 divides table 9 by the peaks of table 2, and both inputs are rounded. A cell is
    explained if some pair of values that round to the inputs has a quotient that rounds to the
    cell.
    """
    heaps, peaks, quotients = (PAPER.table(number) for number in (9, 2, 10))
    met = cells = 0
    for program in quotients.rows:
        if program == _AVERAGE:
            continue
        peak = peaks.cells[program]["Max. Bytes (10^3)"]
        for policy in PAPER.policies:
            heap, printed = heaps.cells[program][policy], quotients.cells[program][policy]
            scale = unit / KILOBYTE_OF_REQUESTS
            least = scale * (heap.value - heap.half_unit) / (peak.value + peak.half_unit)
            most = scale * (heap.value + heap.half_unit) / (peak.value - peak.half_unit)
            cells += 1
            met += least - printed.half_unit <= printed.value <= most + printed.half_unit
    return met, cells


def units_table() -> Table:
    """Return the cells of table 10 that each kilobyte explains."""
    rows = [(unit, *quotients_met(unit)) for unit in UNITS]
    title = "Table 9 divided by the peaks of table 2, for each meaning of K"
    return Table(title, ("bytes in a K", "cells that equal table 10", "cells"), rows)
