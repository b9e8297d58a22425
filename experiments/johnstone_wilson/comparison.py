"""A published table beside the same table measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.johnstone_wilson.programs import heading
from experiments.johnstone_wilson.published import AVERAGE, DEVIATION
from simalloc.report import Rounded, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from experiments.johnstone_wilson.published import PublishedTable
    from simalloc.report.table import Value


def average(values: Sequence[float]) -> float:
    """Return the arithmetic mean, which is what the paper prints."""
    return float(np.mean(values))


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample, which is what the paper prints."""
    return float(np.std(values, ddof=1))


SUMMARIES: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    AVERAGE: average,
    DEVIATION: deviation,
}


@dataclass(frozen=True)
class Comparison:
    """`measured[row][column]` beside the cells of a published table; cells may be missing.

    `unit` says what the figures are in, `variant` how they were measured.
    """

    published: PublishedTable
    measured: Mapping[str, Mapping[str, float]]
    unit: str = ""
    variant: str = ""

    @property
    def title(self) -> str:
        """The table's number, page and caption, unit and variant."""
        published = self.published
        caption = f"Table {published.number} (page {published.page}). {published.caption}"
        return "; ".join(part for part in (caption, self.unit, self.variant) if part)

    def pairs(self) -> list[tuple[str, str, float, float]]:
        """Return (row, column, published, measured) for every cell that has both."""
        return [
            (row, column, cell.value, self.measured[row][column])
            for row in self.published.rows
            for column, cell in self.published.row(row).items()
            if column in self.measured.get(row, {})
        ]

    def table(self) -> Table:
        """Return the table in the paper's form, with three lines a row.

        Summaries below a column are taken over the cells that have been measured, on both lines,
        if there are two or more.
        """
        columns = [name for name in self.published.columns if name not in SUMMARIES]
        rows = [line for row in self.published.rows for line in self._row(row, columns)]
        for summary in SUMMARIES:
            if summary in self.published.cells:
                rows += self._summary(summary, columns)
        return Table(self.title, ("", *map(heading, columns)), rows, self.published.mended)

    def data(self) -> Table:
        """Return a row a cell that has both figures, for CSV."""
        rows = [(*pair, pair[3] - pair[2]) for pair in self.pairs()]
        return Table(self.title, ("row", "column", "published", "here", "difference"), rows)

    def _row(self, row: str, columns: Sequence[str]) -> list[tuple[Value, ...]]:
        printed = self.published.row(row)
        measured = self.measured.get(row, {})
        return lines(
            heading(row).replace("\n", ", "),
            [printed[column].value if column in printed else None for column in columns],
            [measured.get(column) for column in columns],
            [printed[column].decimals if column in printed else 0 for column in columns],
        )

    def _summary(self, summary: str, columns: Sequence[str]) -> list[tuple[Value, ...]]:
        function, printed = SUMMARIES[summary], self.published.cells[summary]
        cells = [[(p, m) for _, name, p, m in self.pairs() if name == column] for column in columns]
        return lines(
            summary,
            [function([p for p, _ in both]) if len(both) > 1 else None for both in cells],
            [function([m for _, m in both]) if len(both) > 1 else None for both in cells],
            [printed[column].decimals if column in printed else 0 for column in columns],
        )


def lines(
    name: str,
    published: Sequence[float | None],
    measured: Sequence[float | None],
    decimals: Sequence[int],
) -> list[tuple[Value, ...]]:
    """Return a row's lines: published, here, difference; each figure with its decimals."""
    columns = list(zip(published, measured, decimals, strict=True))
    return [
        (f"{name}: published", *(None if p is None else Rounded(p, d) for p, _, d in columns)),
        ("here", *(None if m is None else Rounded(m, d) for _, m, d in columns)),
        ("difference", *(difference(p, m, d) for p, m, d in columns)),
    ]


def difference(published: float | None, measured: float | None, decimals: int) -> Value:
    """Return measured less published with its sign, or nothing if either is missing."""
    if published is None or measured is None:
        return None
    return Rounded(measured - published, decimals, signed=True)
