"""The figures that the paper prints, read from the data files in `published/`."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from experiments.published import Printed

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER: Final = Path(__file__).parent / "published"
AVERAGE: Final = "average"
DEVIATION: Final = "deviation"

_SUMMARIES: Final = {"Average": AVERAGE, "Std Dev": DEVIATION}


@dataclass(frozen=True)
class PublishedTable:
    """One table of the paper.

    `cells[row][column]` is what stands there; cells that are empty or could not be read are
    missing. Programs and policies go by their names in simalloc, the summaries by `AVERAGE` and
    `DEVIATION`, other headings as printed.
    """

    number: int
    caption: str
    page: int
    mended: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[str, Mapping[str, Printed]]

    def column(self, name: str) -> dict[str, Printed]:
        """Return the cells of a column by row, summaries left out."""
        return {
            row: cells[name]
            for row, cells in self.cells.items()
            if name in cells and row not in _SUMMARIES.values()
        }

    def row(self, name: str) -> dict[str, Printed]:
        """Return the cells of a row by column, summaries left out."""
        return {
            column: cell
            for column, cell in self.cells[name].items()
            if column not in _SUMMARIES.values()
        }

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows, summaries left out."""
        return tuple(row for row in self.cells if row not in _SUMMARIES.values())


@cache
def catalogue() -> dict[str, Any]:
    """Return what `tables.toml` holds: captions, pages, prose figures, names."""
    return tomllib.loads((FOLDER / "tables.toml").read_text(encoding="utf-8"))


@cache
def table(number: int) -> PublishedTable:
    """Return one of the paper's tables 1 to 7."""
    about = catalogue()["tables"][str(number)]
    with (FOLDER / f"table{number}.csv").open(encoding="utf-8", newline="") as file:
        (_, *headings), *lines = csv.reader(file)
    columns = tuple(_name(heading) for heading in headings)
    cells = {
        _name(row): {
            column: Printed(text) for column, text in zip(columns, texts, strict=True) if text
        }
        for row, *texts in lines
    }
    return PublishedTable(
        number, about["caption"], about["page"], tuple(about.get("mended", ())), columns, cells
    )


def programs() -> tuple[str, ...]:
    """Return simalloc's names of the eight programs, in the order of tables 3 and 4."""
    return tuple(catalogue()["programs"])


def label(name: str) -> str:
    """Return how the paper writes a program or policy; any other heading as it is."""
    names = {**catalogue()["programs"], **catalogue()["policies"]}
    return str(names[name][0]) if name in names else name


@cache
def _spellings() -> dict[str, str]:
    names = {**catalogue()["programs"], **catalogue()["policies"]}
    return {spelling: name for name, spellings in names.items() for spelling in spellings}


def _name(printed: str) -> str:
    return _spellings().get(printed) or _SUMMARIES.get(printed, printed)
