"""The figures that the paper prints, read from the data files in `published/`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from experiments import published
from experiments.published import Printed

AVERAGE: Final = "average"
DEVIATION: Final = "deviation"

_SUMMARIES: Final = (AVERAGE, DEVIATION)
_PAPER: Final = published.Publication(Path(__file__).parent / "published")


@dataclass(frozen=True)
class PublishedTable(published.PublishedTable):
    """One table of the paper; `AVERAGE` and `DEVIATION` are the names of its summaries."""

    page: int

    def column(self, name: str) -> dict[str, Printed]:
        """Return the cells of a column by row, without the summaries."""
        return {row: self.cells[row][name] for row in self.rows if name in self.cells[row]}

    def row(self, name: str) -> dict[str, Printed]:
        """Return the cells of a row by column, without the summaries."""
        cells = self.cells[name]
        return {column: cell for column, cell in cells.items() if column not in _SUMMARIES}

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows, without the summaries."""
        return tuple(row for row in self.cells if row not in _SUMMARIES)


def catalogue() -> dict[str, Any]:
    """Return the content of `tables.toml`: captions, pages, prose figures and names."""
    return _PAPER.about


@cache
def table(number: int) -> PublishedTable:
    """Return one of the paper's tables 1 to 7."""
    page = catalogue()["tables"][str(number)]["page"]
    return PublishedTable(**vars(_PAPER.table(number)), page=page)


def programs() -> tuple[str, ...]:
    """Return simalloc's names of the eight programs, in the order of tables 3 and 4."""
    return _PAPER.programs


def label(name: str) -> str:
    """Return the paper's name of a program or policy, or any other heading unchanged."""
    return name if name in _SUMMARIES else _PAPER.label(name)
