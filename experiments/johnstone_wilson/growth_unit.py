"""The growth unit of the paper's heaps, derived from the printed figures alone.

Table 4 prints peak heap / peak live - 1. A heap that grows by a fixed unit is a multiple of that
unit. A printed percentage therefore restricts the peak live bytes of its column: some multiple of
the unit, divided by them, must round to the printed value. Table 1 prints the peak live bytes to
half a kilobyte; within that range they are the only free parameter of a column. For each unit
("grid") we count the distinct percentages of a column that one choice of live bytes explains. We
compare this count with the count that a finer grid yields by chance.

All byte figures are the program's, after division by 16: 4 KiB of the simulated heap are 256 bytes
here, 64 KiB are 4096.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from experiments.johnstone_wilson.published import programs, table
from experiments.published import Printed

SCALE: Final = 16
DESCRIBED: Final = 4096 // SCALE
"""Growth unit that the paper's text states, in the program's bytes."""

PRINTED: Final = 4096
"""Growth unit that fits the 4K rows of table 4, in the program's bytes."""

GRIDS: Final = (256, 384, 512, 1024, 2048, 4096, 8192, 16384)

ROWS_8K: Final = ("best-fit-ao-8k", "first-fit-ao-8k")
TRUTHS: Final = (256, 512, 1024, 2048)
"""True units, smaller than `PRINTED`, against which `PRINTED` is tested."""

SEQUENTIAL: Final = tuple(
    f"{fit}-fit-{order}" for fit in ("best", "first", "next") for order in ("ao", "lifo", "fifo")
)
ROWS_4K: Final = (*SEQUENTIAL, "lea-2.6.1")
ROWS_OTHER: Final = ("binary-buddy", "double-buddy", "simple-seg-2n", "simple-seg-2n-3x2n")


@dataclass(frozen=True)
class ColumnFit:
    """Number of distinct percentages of one program's column that a grid explains.

    `live` contains every number of peak live bytes (int64) that explains the maximum number of
    percentages. `missed` contains the percentages that the first of these numbers leaves
    unexplained.
    """

    program: str
    grid: int
    values: tuple[Printed, ...]
    hits: int
    live: NDArray[np.int64]
    missed: tuple[Printed, ...]


@dataclass(frozen=True)
class Chance:
    """Number of distinct percentages explained by chance, over all columns, for a given true unit.

    `mean` and `most` are over `draws` imitations of the table. `as_many` is the number of
    imitations that explain at least the printed table's number.
    """

    draws: int
    mean: float
    most: int
    as_many: int


@dataclass(frozen=True)
class RowFit:
    """Number of cells of one row that a grid explains, with pinned live bytes.

    Only significant cells are counted: a heap of arbitrary size would match each with a probability
    of less than one half. `expected` is the number of cells that such a heap would match.
    """

    policy: str
    grid: int
    cells: int
    hits: int
    expected: float


def live_candidates(program: str) -> NDArray[np.int64]:
    """Return all numbers of peak live bytes (int64) that round to the figure of table 1."""
    kilobytes = table(1).cells[program]["max Kbytes"]
    low = (kilobytes.value - kilobytes.half_unit) * 1024
    high = (kilobytes.value + kilobytes.half_unit) * 1024
    return np.arange(int(low), int(high) + 1)


def on_grid(
    live: NDArray[np.int64], percent: NDArray[np.float64], half_unit: NDArray[np.float64], grid: int
) -> NDArray[np.bool_]:
    """Return whether a multiple of `grid` over `live` prints as `percent` ± `half_unit`.

    Arguments broadcast.
    """
    highest = live * (1 + (percent + half_unit) / 100)
    lowest = live * (1 + (percent - half_unit) / 100)
    return np.asarray(np.floor(highest / grid) * grid >= lowest)


def column_fit(program: str, policies: Sequence[str], grid: int) -> ColumnFit:
    """Find the live bytes for which the grid explains most of a column's distinct percentages."""
    values = _distinct(program, policies)
    live = live_candidates(program)
    met = _met(live, values, grid)
    hits = met.sum(axis=0)
    best = np.flatnonzero(hits == hits.max())
    missed = tuple(value for value, ok in zip(values, met[:, best[0]], strict=True) if not ok)
    return ColumnFit(program, grid, values, int(hits.max()), live[best], missed)


def chance(
    policies: Sequence[str],
    grid: int,
    *,
    truth: int = DESCRIBED,
    draws: int = 1000,
    seed: int = 1998,
) -> Chance:
    """Count the percentages that `grid` explains in tables with heaps of multiples of `truth`.

    Each draw moves the heap behind every distinct percentage up by 0, 1, 2 ... units, at most one
    step of the grid, all equally likely. It then prints the heap with the paper's number of
    decimals and searches for the best live bytes like `column_fit`.
    """
    generator = np.random.default_rng(seed)
    steps = -(-grid // truth)
    totals = np.zeros(draws, np.int64)
    for program in programs():
        live = live_candidates(program)
        middle = float(live[len(live) // 2])
        explained = np.zeros((draws, len(live)), np.int8)
        for value in _distinct(program, policies):
            units = np.round(middle * (1 + value.value / 100) / truth) + np.arange(steps)
            percent = np.round((units * truth / middle - 1) * 100, value.decimals)
            met = on_grid(live, percent[:, None], np.array(value.half_unit), grid)
            explained += met[generator.integers(steps, size=draws)]
        totals += explained.max(axis=1)
    found = sum(column_fit(program, policies, grid).hits for program in programs())
    return Chance(draws, float(totals.mean()), int(totals.max()), int((totals >= found).sum()))


def pinned_live(program: str) -> NDArray[np.int64]:
    """Return the peak live bytes (int64) for which most of the 4K rows are multiples of 4096."""
    return column_fit(program, ROWS_4K, PRINTED).live


def row_fit(policy: str, grid: int) -> RowFit:
    """Count the cells of a row that a grid explains for some of the pinned live bytes."""
    cells, hits, expected = 0, 0, 0.0
    for program, cell in table(4).row(policy).items():
        live = pinned_live(program)
        span = (live[-1] - live[0]) * (1 + cell.value / 100) + live[-1] * cell.half_unit / 50
        by_chance = float(span) / grid
        if by_chance < 0.5:
            cells += 1
            hits += bool(_met(live, (cell,), grid).any())
            expected += by_chance
    return RowFit(policy, grid, cells, hits, expected)


def _distinct(program: str, policies: Sequence[str]) -> tuple[Printed, ...]:
    cells = table(4).column(program)
    return tuple(sorted({cells[policy] for policy in policies}, key=lambda cell: cell.value))


def _met(live: NDArray[np.int64], values: Sequence[Printed], grid: int) -> NDArray[np.bool_]:
    """Return whether a multiple of the grid explains a value, by value and live size."""
    percent = np.array([[value.value] for value in values])
    half_unit = np.array([[value.half_unit] for value in values])
    return on_grid(live, percent, half_unit, grid)
