"""The figures that a paper prints, read from data files: `tableN.csv` and `tables.toml`.

Each CSV file contains the cells of one table as text, digit for digit. The TOML file contains
captions, notes on corrections, figures from the prose, and our names for the paper's names.
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
    """A figure as printed, such as `1.64%` or `2,409K`, in its printed unit."""

    text: str

    @property
    def value(self) -> float:
        """Figure without the sign of its unit."""
        return float(self._digits)

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed decimal, the maximum rounding error."""
        return 0.5 * 10.0**-self.decimals

    @property
    def decimals(self) -> int:
        """Number of printed decimals."""
        return len(self._digits.partition(".")[2])

    @property
    def _digits(self) -> str:
        return self.text.rstrip(_SIGNS).replace(",", "")


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper.

    `cells[row][column]` is the printed cell; empty and unreadable cells are missing. Programs and
    policies have their names in simalloc, other headings are as printed.
    """

    number: int
    caption: str
    mended: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[str, Mapping[str, Printed]]

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows."""
        return tuple(self.cells)


@dataclass(frozen=True)
class Publication:
    """A paper whose figures are stored in a folder."""

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
        """Simalloc's names of the programs for which we have traces."""
        return tuple(self.about.get("programs", ()))

    @property
    def policies(self) -> tuple[str, ...]:
        """Simalloc's names of the policies."""
        return tuple(self.about["policies"])

    def label(self, name: str) -> str:
        """Return the paper's name of a program or policy; any other heading unchanged."""
        return str(self._names[name][0]) if name in self._names else name

    def name(self, printed: str) -> str:
        """Return our name for a printed name, or any other heading unchanged."""
        return next((name for name, texts in self._names.items() if printed in texts), printed)

    @property
    def _names(self) -> dict[str, Any]:
        names = ("programs", "policies", "summaries")
        return {name: texts for kind in names for name, texts in self.about.get(kind, {}).items()}
