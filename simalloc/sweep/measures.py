"""The figures of a run, by name, and their presentation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from simalloc.errors import ResultsError
from simalloc.heap.fragmentation import measure_number
from simalloc.report.table import Value
from simalloc.report.units import percent


@dataclass(frozen=True)
class Measure:
    """A column of results; fragmentation is shown in percent."""

    column: str

    @classmethod
    def of(cls, measure: str | int) -> Measure:
        """Return the measure that 1 to 4, or the name of a column, stands for."""
        text = str(measure)
        if text.removeprefix("#").isdigit():
            return cls(f"fragmentation_{measure_number(text)}")
        return cls(text)

    @property
    def percent(self) -> bool:
        """True for a fraction that is shown in percent."""
        return self.column.startswith("fragmentation_")

    @property
    def title(self) -> str:
        """The title above a table."""
        if self.percent:
            return f"Fragmentation #{self.column.removeprefix('fragmentation_')}, percent"
        return self.column.replace("_", " ").capitalize()

    def value(self, row: Mapping[str, Any]) -> float:
        """Return the figure of a run, nan where it is not defined."""
        if self.column not in row:
            raise ResultsError(
                f"the results have no column {self.column!r}; --format csv shows them all"
            )
        value = row[self.column]
        if isinstance(value, (str, dict)):
            raise ResultsError(f"{self.column} does not hold numbers")
        return math.nan if value is None else float(value)

    def shown(self, value: float) -> Value:
        """Return a figure as a table's cell, empty where it is not defined."""
        if not math.isfinite(value):
            return None
        return percent(value) if self.percent else _whole(value)

    def text(self, value: float) -> str:
        """Return a difference of figures in words."""
        return f"{percent(value).text} points" if self.percent else f"{value:,.4g}"


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return the different values in the order of their first appearance."""
    return list(dict.fromkeys(values))


def _whole(value: float) -> Value:
    return int(value) if value.is_integer() else value
