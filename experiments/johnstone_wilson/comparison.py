"""A published table beside the measured table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.comparison import lines
from experiments.johnstone_wilson.programs import AVAILABLE, GENUINE, RECONSTRUCTED, heading
from experiments.johnstone_wilson.published import AVERAGE, DEVIATION, PublishedTable
from simalloc.report import Table
from simalloc.report.table import Value


def average(values: Sequence[float]) -> float:
    """Return the arithmetic mean, the average that the paper prints."""
    return float(np.mean(values))


def deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation, the deviation that the paper prints."""
    return float(np.std(values, ddof=1))


SUMMARIES: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    AVERAGE: average,
    DEVIATION: deviation,
}


@dataclass(frozen=True)
class Comparison:
    """Cells of a published table beside `measured[row][column]`, which may lack cells.

    `unit` names the unit of the figures, `variant` the way in which they were measured.
    """

    published: PublishedTable
    measured: Mapping[str, Mapping[str, float]]
    unit: str = ""
    variant: str = ""

    @property
    def title(self) -> str:
        """Title with the table's number, page and caption, the unit and the variant."""
        published = self.published
        caption = f"Table {published.number} (page {published.page}). {published.caption}"
        return "; ".join(part for part in (caption, self.unit, self.variant) if part)

    def pairs(self) -> list[tuple[str, str, float, float]]:
        """Return (row, column, published, measured) for every published cell that was measured."""
        return [
            (row, column, cell.value, self.measured[row][column])
            for row in self.published.rows
            for column, cell in self.published.row(row).items()
            if column in self.measured.get(row, {})
        ]

    def table(self) -> Table:
        """Return the table in the paper's form, with three lines per row.

        A summary below a column is shown as printed. If a column has two or more measured cells,
        both lines also show the summary of these cells. If the rows are programs, summaries of only
        the genuine traces follow.
        """
        columns = [name for name in self.published.columns if name not in SUMMARIES]
        rows = [line for row in self.published.rows for line in self._row(row, columns)]
        for summary in SUMMARIES:
            if summary in self.published.cells:
                rows += self._summary(summary, columns)
        return Table(self.title, ("", *map(heading, columns)), rows, self.published.mended)

    def short(self) -> Table:
        """Return one line per row, with cells `published/here`, for the programs with a trace."""
        columns = [name for name in self.published.columns if name in AVAILABLE]
        rows = [
            (heading(row), *(self._both(row, column) for column in columns))
            for row in self.published.rows
        ]
        names = [heading(name).replace("\nreconstructed", "*") for name in columns]
        note = "Each cell: published/here. A dash: not printed. *: the trace is reconstructed."
        title = f"Table {self.published.number}: percent of fragmentation, measure"
        return Table(f"{title} #{self.published.number}", ("", *names), rows, (note,))

    def _both(self, row: str, column: str) -> str:
        cell = self.published.row(row).get(column)
        decimals = cell.decimals if cell else 0
        published = f"{cell.value:,.{decimals}f}" if cell else "-"
        return f"{published}/{self.measured[row][column]:,.{decimals}f}"

    def data(self) -> Table:
        """Return one row for each cell with both figures, for CSV, with the kind of its trace."""
        rows = [(*pair, pair[3] - pair[2], _kind(pair[:2])) for pair in self.pairs()]
        columns = ("row", "column", "published", "here", "difference", "trace")
        return Table(self.title, columns, rows)

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
        printed = self.published.cells[summary]
        decimals = [printed[column].decimals if column in printed else 0 for column in columns]
        rows: list[tuple[Value, ...]] = []
        if self._has_rows_of_programs:
            paper = [printed[column].value if column in printed else None for column in columns]
            of = f"{summary} of all {len(self.published.rows)}"
            rows = lines(of, paper, [None] * len(columns), decimals)[:1]
        for name, programs in self._groups(summary):
            cells = [self._summed(summary, column, programs) for column in columns]
            rows += lines(name, [p for p, _ in cells], [m for _, m in cells], decimals)
        return rows

    @property
    def _has_rows_of_programs(self) -> bool:
        return not set(self.published.rows).isdisjoint(AVAILABLE)

    def _groups(self, summary: str) -> list[tuple[str, Collection[str]]]:
        """Return the groups of rows that a summary covers, each with a name."""
        measured = [row for row in self.published.rows if row in self.measured]
        if not self._has_rows_of_programs:
            return [(summary, measured)]
        genuine = [row for row in measured if row in GENUINE]
        made = len(measured) - len(genuine)
        return [
            (f"{summary} of {len(measured)}, {made} reconstructed", measured),
            (f"{summary} of the {len(genuine)} genuine", genuine),
        ]

    def _summed(
        self, summary: str, column: str, rows: Collection[str]
    ) -> tuple[float | None, float | None]:
        """Return the summaries of the printed and of the measured values over the same cells."""
        cells = [(p, m) for row, name, p, m in self.pairs() if name == column and row in rows]
        if len(cells) < 2:
            return None, None
        function = SUMMARIES[summary]
        return function([p for p, _ in cells]), function([m for _, m in cells])


def _kind(names: Collection[str]) -> str:
    """Return whether the trace named by a row or a column is genuine or reconstructed."""
    return "reconstructed" if set(names) & set(RECONSTRUCTED) else "genuine"
