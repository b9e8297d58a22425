"""The figures that a paper prints, read from data files: `tableN.csv` and `tables.toml`.

Each CSV holds the cells of one table as text, digit for digit; the TOML file has captions, notes
on what had to be mended, figures that stand in the prose, and our names for what the paper writes.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

_SIGNS: Final = "%K"


@dataclass(frozen=True)
class Printed:
    """A figure as printed, such as `1.64%` or `2,409K`, in the unit it is printed in."""

    text: str

    @property
    def value(self) -> float:
        """The figure without its sign of unit."""
        return float(self._digits)

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed place: how far rounding can have moved the figure."""
        return 0.5 * 10.0**-self.decimals

    @property
    def decimals(self) -> int:
        """The number of places printed after the point."""
        return len(self._digits.partition(".")[2])

    @property
    def _digits(self) -> str:
        return self.text.rstrip(_SIGNS).replace(",", "")


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper.

    `cells[row][column]` is what stands there; cells that are empty or could not be read are
    missing. Programs and policies go by their names in simalloc, other headings as printed.
    """

    number: int
    caption: str
    mended: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[str, Mapping[str, Printed]]

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows."""
        return tuple(self.cells)


@dataclass(frozen=True)
class Publication:
    """A paper whose figures are in a folder."""

    folder: Path

    @cached_property
    def about(self) -> dict[str, Any]:
        """Content of `tables.toml`."""
        return tomllib.loads((self.folder / "tables.toml").read_text(encoding="utf-8"))

    def table(self, number: int) -> PublishedTable:
        """Return one of the paper's tables."""
        about = self.about["tables"][str(number)]
        with (self.folder / f"table{number}.csv").open(encoding="utf-8", newline="") as file:
            (_, *headings), *lines = csv.reader(file)
        columns = tuple(map(self.name, headings))
        cells = {
            self.name(row): {
                column: Printed(text) for column, text in zip(columns, texts, strict=True) if text
            }
            for row, *texts in lines
        }
        return PublishedTable(
            number, about["caption"], tuple(about.get("mended", ())), columns, cells
        )

    @property
    def programs(self) -> tuple[str, ...]:
        """Simalloc's names of the programs that there are traces of."""
        return tuple(self.about.get("programs", ()))

    @property
    def policies(self) -> tuple[str, ...]:
        """Simalloc's names of the policies."""
        return tuple(self.about["policies"])

    def label(self, name: str) -> str:
        """Return the paper's name of a program or policy; any other heading unchanged."""
        return str(self._names[name][0]) if name in self._names else name

    def name(self, printed: str) -> str:
        """Return our name for what the paper writes; any other heading as it is."""
        return next((name for name, texts in self._names.items() if printed in texts), printed)

    @property
    def _names(self) -> dict[str, Any]:
        names = ("programs", "policies", "summaries")
        return {name: texts for kind in names for name, texts in self.about.get(kind, {}).items()}
