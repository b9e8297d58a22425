"""Tables 4 to 7 count instructions; beside them is the work that a simulation counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from experiments.detlefs.heaps import run_of
from experiments.detlefs.measuring import Results
from experiments.detlefs.paper import PAPER
from experiments.mallocs import at_hand
from simalloc.report import Rounded, Table
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
    """Return the printed instructions beside blocks visited, splits, merges and growths.

    A realloc that moves counts as a malloc and a free; `visited` is the mean per search.
    """
    rows = [_row(results, program, name) for program in PAPER.programs for name in at_hand(PAPER)]
    return Table("Tables 4 to 7: instructions in print, and the work counted here", _COLUMNS, rows)


@dataclass(frozen=True)
class Correlation:
    """Spearman's correlation over the programs; `chance` percent of all orders reach it or more."""

    value: float
    chance: float


def rank_correlation(results: Results, name: str) -> Correlation | None:
    """Return the correlation of an allocator's printed instructions per malloc with visited blocks.

    Returns None if either figure is the same for all programs.
    """
    visited = [run_of(results, program, name).counters.visited_mean for program in PAPER.programs]
    printed = [PAPER.table(4).cells[program][name].value for program in PAPER.programs]
    first, second = _ranks(printed), _ranks(visited)
    if min(np.ptp(first), np.ptp(second)) == 0:
        return None
    value = float(np.corrcoef(first, second)[0, 1])
    orders = [float(np.corrcoef(first, order)[0, 1]) for order in permutations(second)]
    as_much = sum(order > value - 1e-9 for order in orders)
    return Correlation(value, 100 * as_much / len(orders))


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Return each value's rank; equal values share the mean of their ranks."""
    ordered = np.sort(values)
    ends = [np.searchsorted(ordered, values, side) for side in ("left", "right")]
    return np.asarray((ends[0] + ends[1] + 1) / 2)


def ranks_table(results: Results) -> Table:
    """Return the rank correlation of instructions and blocks visited for each allocator."""
    rows: list[tuple[Value, ...]] = []
    for name in at_hand(PAPER):
        found = rank_correlation(results, name)
        cells = () if found is None else (Rounded(found.value, 2), Rounded(found.chance, 0))
        rows.append((PAPER.label(name), *(cells or (None, None))))
    columns = (
        "allocator",
        f"rank correlation over {len(PAPER.programs)} programs",
        "% of all orders of the programs with at least this correlation",
    )
    return Table(
        "Instructions per malloc in print, and blocks visited per malloc here", columns, rows
    )


def _row(results: Results, program: str, name: str) -> tuple[Value, ...]:
    counters = run_of(results, program, name).counters
    counts = results.described[program].counts
    mallocs, frees = counts.lives, counts.frees + counts.reallocs
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
