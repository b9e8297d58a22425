"""The heaps behind the printed percentages, in bytes of the program.

Table 4 prints peak heap / peak live - 1, and its 4K rows pin the peak live bytes of a column
(`growth_unit`). Each cell therefore determines the heap itself, up to the cell's rounding. Tables 3
and 4 divide the same heap, so that together they determine the live bytes at its peak.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Final

from experiments.johnstone_wilson.growth_unit import (
    DESCRIBED,
    PRINTED,
    ROWS_4K,
    ROWS_8K,
    pinned_live,
)
from experiments.johnstone_wilson.published import table
from experiments.published import Printed

UNITS: Final = {**dict.fromkeys(ROWS_4K, PRINTED), **dict.fromkeys(ROWS_8K, 2 * DESCRIBED)}
"""Growth units that fit the rows of table 4, by row; the absent rows do not determine a unit."""


@dataclass(frozen=True)
class Interval:
    """All values from `low` to `high`, inclusive."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """Midpoint of the interval."""
        return (self.low + self.high) / 2

    @property
    def half_width(self) -> float:
        """Distance of the ends from the midpoint."""
        return (self.high - self.low) / 2

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def distance(self, value: float) -> float:
        """Return the distance of a value from the interval; 0 inside."""
        return max(self.low - value, value - self.high, 0.0)

    def spell(self) -> str:
        """Return the midpoint with its maximum error, or the only possible value."""
        if self.low == self.high:
            return f"{self.middle:,.0f}"
        return f"{self.middle:,.0f} ± {self.half_width:,.0f}"


def step(policy: str) -> int:
    """Return the growth unit of a row, or the described unit if the row does not determine one."""
    return UNITS.get(policy, DESCRIBED)


def printed_heap(program: str, policy: str) -> Interval:
    """Return the peak heap that a cell of table 4 represents.

    In a 4K or 8K row, the heap is a single multiple of the row's unit if rounding admits only one.
    """
    times = _times(table(4).cells[policy][program])
    live = pinned_live(program)
    heap = Interval(float(live[0]) * times.low, float(live[-1]) * times.high)
    unit = UNITS.get(policy, 0)
    if unit and floor(heap.high / unit) == ceil(heap.low / unit):
        whole = float(unit * floor(heap.high / unit))
        return Interval(whole, whole)
    return heap


def printed_live_at_peak(program: str, policy: str) -> Interval:
    """Return the live bytes at the peak heap of the paper's run."""
    heap = printed_heap(program, policy)
    times = _times(table(3).cells[policy][program])
    return Interval(heap.low / times.high, heap.high / times.low)


def _times(cell: Printed) -> Interval:
    """Return the ratio of heap to live bytes that a printed percentage states."""
    low, high = cell.value - cell.half_unit, cell.value + cell.half_unit
    return Interval(1 + low / 100, 1 + high / 100)
