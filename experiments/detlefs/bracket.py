"""ULTRIX's malloc between two related mallocs: its source is proprietary, theirs is not."""

from __future__ import annotations

from experiments.detlefs.heaps import run_of
from experiments.detlefs.measuring import Results
from experiments.detlefs.paper import KILOBYTE_OF_HEAP, KIN, PAPER
from simalloc.report import Rounded, Table
from simalloc.report.table import Value


def bracket(results: Results, program: str) -> tuple[float, float, float]:
    """Return the heaps of the two related mallocs, in K, and ULTRIX's printed heap between them."""
    first, second = (
        run_of(results, program, name).peak_heap_bytes / KILOBYTE_OF_HEAP for name in KIN
    )
    return first, PAPER.table(9).cells[program]["ultrix"].value, second


def bracket_table(results: Results) -> Table:
    """Return one row per program: 4.2BSD's heap, ULTRIX's in print, 4.4BSD's."""
    rows: list[tuple[Value, ...]] = [
        (PAPER.label(program), *(Rounded(size, 0) for size in bracket(results, program)))
        for program in PAPER.programs
    ]
    columns = ("program", "4.2BSD, here", "ULTRIX, printed", "4.4BSD, here")
    return Table("Table 9's ULTRIX beside Kingsley's mallocs, K of 1024", columns, rows)
