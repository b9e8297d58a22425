"""The heaps behind the printed percentages, in bytes of the program.

Table 4 prints peak heap / peak live - 1, and its 4K rows pin the peak live bytes of a column
(`growth_unit`). So each cell gives the heap itself, as exactly as it is rounded; and tables 3 and 4
together, which divide the same heap, give the live bytes at its peak.
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
"""The growth units that the rows of table 4 speak for, by row; the other rows settle none."""


@dataclass(frozen=True)
class Interval:
    """All values from `low` to `high`."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The value in the middle."""
        return (self.low + self.high) / 2

    @property
    def half_width(self) -> float:
        """Distance of the ends from the middle."""
        return (self.high - self.low) / 2

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def distance(self, value: float) -> float:
        """Return the distance of a value from the interval; 0 inside."""
        return max(self.low - value, value - self.high, 0.0)

    def spell(self) -> str:
        """Return the middle with its maximum error, or the only possible value."""
        if self.low == self.high:
            return f"{self.middle:,.0f}"
        return f"{self.middle:,.0f} ± {self.half_width:,.0f}"


def step(policy: str) -> int:
    """Return the growth unit of a row; for those that settle none, the described one."""
    return UNITS.get(policy, DESCRIBED)


def printed_heap(program: str, policy: str) -> Interval:
    """Return the peak heap that a cell of table 4 stands for.

    A 4K or 8K row is the one multiple of its unit, where rounding leaves only one.
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
    """Return the live bytes at the peak heap that the paper's run had."""
    heap = printed_heap(program, policy)
    times = _times(table(3).cells[policy][program])
    return Interval(heap.low / times.high, heap.high / times.low)


def _times(cell: Printed) -> Interval:
    """Return the factor of live bytes for a printed percentage."""
    low, high = cell.value - cell.half_unit, cell.value + cell.half_unit
    return Interval(1 + low / 100, 1 + high / 100)
