"""Johnstone & Wilson's four measures of fragmentation (1998, section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from simalloc.errors import SimallocError
from simalloc.heap.footprint import Footprint
from simalloc.shown import ShownAsTable

MEASURES: Final = ("1", "2", "3", "4")
"""Numbers of the measures in the paper."""


@dataclass(frozen=True)
class Fragmentation(ShownAsTable):
    """Excess of the heap over the live bytes as fractions: 0.25 is 25 percent.

    A measure is nan if no byte was live at its point.
    """

    mean: float
    """#1: heap / live - 1, averaged over the events that leave live bytes. The paper averages
    "across all points in time" and names no clock; events are our reading.
    """
    mean_by_bytes: float
    """#1 with the bytes allocated as the clock."""
    at_peak_live: float
    """#2: heap / live - 1 when live bytes first had their peak."""
    at_peak_heap: float
    """#3: heap / live - 1 when the heap first had its peak."""
    peak_to_peak: float
    """#4: peak heap / peak live - 1."""

    @classmethod
    def of(cls, footprint: Footprint, max_live_bytes: int) -> Self:
        """Return all measures of a footprint in a run with this peak of live bytes."""
        return cls(
            mean=footprint.mean_to_live - 1,
            mean_by_bytes=footprint.mean_to_live_by_bytes - 1,
            at_peak_live=_excess(footprint.bytes_at_max_live, max_live_bytes),
            at_peak_heap=_excess(footprint.peak_bytes, footprint.live_bytes_at_peak),
            peak_to_peak=_excess(footprint.peak_bytes, max_live_bytes),
        )

    def __getitem__(self, measure: int | str) -> float:
        """Return measure 4, `"#4"` or `"fragmentation_4"`; raises `SimallocError` for others."""
        measures = (self.mean, self.at_peak_live, self.at_peak_heap, self.peak_to_peak)
        return measures[measure_number(measure) - 1]


def measure_number(measure: int | str) -> int:
    """Return the number of a measure given as 4, `"4"`, `"#4"` or `"fragmentation_4"`.

    Raises `SimallocError` for an unknown measure.
    """
    text = str(measure).removeprefix("#").removeprefix("fragmentation_")
    if text not in MEASURES:
        raise SimallocError(f"unknown measure {measure!r}; write 1 to {len(MEASURES)}, or '#4'")
    return int(text)


def _excess(heap: float, live: float) -> float:
    return heap / live - 1 if live else float("nan")
