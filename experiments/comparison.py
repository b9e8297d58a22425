"""A published table beside the measured table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from experiments.published import PublishedTable
from simalloc.report import Rounded, Table
from simalloc.report.table import Value


@dataclass(frozen=True)
class Comparison:
    """Cells of a published table beside `measured[row][column]`, which may lack cells.

    `variant` describes the measurement, and `heading` returns the heading of a row or column.
    `rows` and `columns` are the published table's, or a selection.
    """

    published: PublishedTable
    measured: Mapping[str, Mapping[str, float]]
    variant: str
    heading: Callable[[str], str]
    rows: Sequence[str]
    columns: Sequence[str]
    notes: Sequence[str] = ()

    @property
    def title(self) -> str:
        """Title with the table's number and caption, and the variant."""
        caption = f"Table {self.published.number}. {self.published.caption}"
        return "; ".join(part for part in (caption, self.variant) if part)

    def pairs(self) -> list[tuple[str, str, float, float]]:
        """Return (row, column, published, measured) for every published cell that was measured."""
        return [
            (row, column, self.published.cells[row][column].value, self.measured[row][column])
            for row in self.rows
            for column in self.columns
            if column in self.published.cells[row] and column in self.measured.get(row, {})
        ]

    def table(self) -> Table:
        """Return the table in the paper's form, with three lines per row."""
        rows = [line for row in self.rows for line in self._row(row)]
        notes = (*self.published.mended, *self.notes)
        return Table(self.title, ("", *map(self.heading, self.columns)), rows, notes)

    def data(self) -> Table:
        """Return one row for each cell with both figures, for CSV."""
        rows = [(*pair, pair[3] - pair[2]) for pair in self.pairs()]
        return Table(self.title, ("row", "column", "published", "here", "difference"), rows)

    def _row(self, row: str) -> list[tuple[Value, ...]]:
        printed, measured = self.published.cells[row], self.measured.get(row, {})
        return lines(
            self.heading(row),
            [printed[column].value if column in printed else None for column in self.columns],
            [measured.get(column) for column in self.columns],
            [printed[column].decimals if column in printed else 0 for column in self.columns],
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
    """Return measured minus published with its sign, or None if either is missing."""
    if published is None or measured is None:
        return None
    return Rounded(measured - published, decimals, signed=True)
