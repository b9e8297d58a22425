"""Figures of runs by name, and their presentation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import ResultsError
from simalloc.heap.fragmentation import measure_number
from simalloc.heap.quantity import COLUMNS, QUANTITIES, WORDS, bytes_of_fragmentation, quantity
from simalloc.report.table import Value
from simalloc.report.units import percent

_PREFIXES: Final = {"mapped": "fragmentation_", "resident": "resident_fragmentation_"}
"""Prefixes of the names of fragmentation columns; a number follows."""


@dataclass(frozen=True)
class Measure:
    """A column of results. Fragmentation is shown in percent."""

    column: str

    @classmethod
    def of(cls, measure: str | int, of: str = "mapped") -> Measure:
        """Return the measure with a number from 1 to 4, a quantity or the name of a column.

        A number is a measure of fragmentation, and `of` states its bytes, mapped or resident.
        Raises `SimallocError` for any other value of `of`.
        """
        text = str(measure)
        held = bytes_of_fragmentation(of)
        if text.removeprefix("#").isdigit():
            return cls(f"{_PREFIXES[held]}{measure_number(text)}")
        return cls(COLUMNS[quantity(text)] if text in QUANTITIES else text)

    @property
    def percent(self) -> bool:
        """True for a fraction that is shown in percent."""
        return self.column.startswith(tuple(_PREFIXES.values()))

    @property
    def best_is_highest(self) -> bool:
        """True if a higher value is better, as for the size of the largest free block."""
        return "largest_free" in self.column

    @property
    def title(self) -> str:
        """Title of a table."""
        if self.percent:
            number = self.column.rpartition("fragmentation_")[2]
            held = " of resident bytes" if self.column.startswith("resident") else ""
            return f"Fragmentation #{number}{held}, percent"
        return self.column.replace("_", " ").capitalize()

    def order(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return keys that sort values from the best to the worst."""
        return -values if self.best_is_highest else values

    def value(self, row: Mapping[str, Any]) -> float:
        """Return the figure of a run, or nan if it is undefined."""
        if self.column not in row:
            raise ResultsError(_absent(self.column))
        value = row[self.column]
        if isinstance(value, (str, dict)):
            raise ResultsError(f"{self.column} does not contain numbers")
        return math.nan if value is None else float(value)

    def shown(self, value: float) -> Value:
        """Return a figure as a cell of a table, empty if it is undefined."""
        if not math.isfinite(value):
            return None
        return percent(value) if self.percent else _whole(value)

    def text(self, value: float) -> str:
        """Return a difference of figures as text."""
        return f"{percent(value).text} points" if self.percent else f"{value:,.4g}"


def _absent(column: str) -> str:
    """Return the message about a column that is missing from the results."""
    missing = [of for of in QUANTITIES if of.replace("-", "_") in column]
    if missing:
        of = missing[0]
        return f'the results have not measured {WORDS[of]}; add of = "{of}" to the plan'
    return f"the results have no column {column!r}; --format csv shows them all"


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values in the order of their first occurrence."""
    return list(dict.fromkeys(values))


def _whole(value: float) -> Value:
    return int(value) if value.is_integer() else value
