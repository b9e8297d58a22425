"""Tables 4 to 7 count instructions; beside them the work that a simulation can see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from experiments.detlefs.heaps import run_of
from experiments.detlefs.paper import PAPER
from experiments.mallocs import at_hand
from simalloc.report import Rounded, Table

if TYPE_CHECKING:
    from experiments.detlefs.measuring import Results
    from simalloc.report.table import Value

_COLUMNS: Final = (
    "program",
    "allocator",
    "instr/malloc\nprinted",
    "visited/malloc\nhere",
    "splits/malloc\nhere",
    "growths/1000 mallocs\nhere",
    "instr/free\nprinted",
    "merges/free\nhere",
    "instr/object\nprinted",
    "% of the program's\nprinted",
)


def work_table(results: Results) -> Table:
    """Return what print counts in instructions beside blocks visited, splits, merges and growths.

    A realloc counts as a malloc and a free where it moves; `visited` is the mean over the searches.
    """
    rows = [_row(results, program, name) for program in PAPER.programs for name in at_hand(PAPER)]
    return Table("Tables 4 to 7: instructions in print, and the work seen here", _COLUMNS, rows)


def _row(results: Results, program: str, name: str) -> tuple[Value, ...]:
    counters = run_of(results, program, name, stdio=False).counters
    counts = results.described[program].counts
    mallocs, frees = counts.objects, counts.frees + counts.reallocs
    printed = [PAPER.table(number).cells[program][name] for number in (4, 5, 6, 7)]
    malloc, free, each, share = (Rounded(cell.value, cell.decimals) for cell in printed)
    return (
        PAPER.label(program),
        PAPER.label(name),
        malloc,
        Rounded(counters.visited_mean, 2),
        Rounded(counters.splits / mallocs, 2),
        Rounded(1000 * counters.growths / mallocs, 2),
        free,
        Rounded(counters.coalescings / frees, 2) if frees else None,
        each,
        share,
    )
