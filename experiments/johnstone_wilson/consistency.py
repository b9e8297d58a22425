"""Checks whether the paper's figures agree with one another, recomputed from its cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np

from experiments.johnstone_wilson.published import (
    AVERAGE,
    DEVIATION,
    PublishedTable,
    catalogue,
    table,
)
from experiments.published import Printed


@dataclass(frozen=True)
class Check:
    """A printed figure beside the figure computed from printed cells.

    `slack` is the maximum difference that rounding alone can cause.
    """

    where: str
    printed: Printed
    computed: float
    slack: float

    @property
    def agrees(self) -> bool:
        """True if rounding alone explains the difference."""
        return abs(self.printed.value - self.computed) <= self.slack + 1e-9


def averages() -> list[Check]:
    """Return a check of every printed average as an arithmetic mean."""
    return [
        Check(
            where,
            printed,
            float(np.mean([cell.value for cell in cells])),
            printed.half_unit + float(np.mean([cell.half_unit for cell in cells])),
        )
        for where, printed, cells in _summaries(AVERAGE)
    ]


def deviations(*, sample: bool = True) -> list[Check]:
    """Return a check of every printed standard deviation, of a sample or of the population.

    Rounding changes a deviation by at most the deviation of the rounding errors. That is at most
    the square root of their sum of squares over the same divisor.
    """
    checks = []
    for where, printed, cells in _summaries(DEVIATION):
        divisor = len(cells) - sample
        error = sqrt(sum(cell.half_unit**2 for cell in cells) / divisor)
        computed = float(np.std([cell.value for cell in cells], ddof=int(sample)))
        checks.append(Check(where, printed, computed, printed.half_unit + error))
    return checks


def prose() -> list[Check]:
    """Return a check of each figure that both the prose and a table print."""
    text, measures = catalogue()["text"], catalogue()["figure"]["1"]["measures"]
    without_lrusim = [
        cell.value for name, cell in table(3).row("simple-seg-2n").items() if name != "lrusim"
    ]
    printed = Printed(text["simple_seg_2n_without_lrusim"])
    checks = [
        Check("section 6.1, simple seg 2^N, #3 without LRUsim", printed,
              float(np.mean(without_lrusim)), 2 * printed.half_unit)
    ]  # fmt: skip
    for share, average in text["average_sizes"].items():
        cells = table(7).column(share).values()
        printed = Printed(average)
        computed = float(np.mean([cell.value for cell in cells]))
        checks.append(Check(f"section 6.4, sizes of {share}", printed, computed, printed.half_unit))
    for number in ("3", "4"):
        cell = table(int(number)).cells["simple-seg-2n"]["gcc"]
        printed = Printed(measures[number])
        slack = printed.half_unit + cell.half_unit
        where = f"section 5, GCC with simple seg 2^N, #{number}"
        checks.append(Check(where, printed, cell.value, slack))
    return checks


def impossible_pairs() -> list[tuple[str, str, Printed, Printed]]:
    """Return the cells of table 3 that are below table 4's, as (policy, program, #3, #4).

    Both measures divide the same peak heap: #3 by the live bytes at that point and #4 by the peak
    live bytes. Therefore #3 cannot be smaller than #4. Rounding cannot make it smaller either,
    because both are printed with the same number of decimals.
    """
    return [
        (policy, program, third, fourth)
        for policy in table(3).rows
        for program, third in table(3).row(policy).items()
        for fourth in [table(4).cells[policy][program]]
        if third.value < fourth.value and third.decimals >= fourth.decimals
    ]


def _summaries(kind: str) -> Iterator[tuple[str, Printed, list[Printed]]]:
    """Yield (name, printed summary, summarised cells) for each summary that a table prints."""
    for number in (1, 3, 4, 5, 6, 7):
        published = table(number)
        for column, printed in published.cells.get(kind, {}).items():
            where = f"table {number}, column {column}"
            yield where, printed, list(published.column(column).values())
        yield from _row_summaries(published, kind)


def _row_summaries(
    published: PublishedTable, kind: str
) -> Iterator[tuple[str, Printed, list[Printed]]]:
    for row in published.rows:
        if kind in published.cells[row]:
            where = f"table {published.number}, row {row}"
            yield where, published.cells[row][kind], list(published.row(row).values())
