"""A number of bytes over the events of a run: mapped, resident, or in the largest free block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Timeline:
    """Live bytes and heap over time, with the extremes of each interval.

    Interval `i` holds the states after the events `i * interval` to `(i + 1) * interval - 1`; the
    arrays have one entry an interval (float64, bytes). `interval` is a power of two.
    """

    interval: int
    live_low: NDArray[np.float64]
    live_high: NDArray[np.float64]
    heap_low: NDArray[np.float64]
    heap_high: NDArray[np.float64]


@dataclass(frozen=True)
class Footprint:
    """Measures of a number of bytes after each event, in program bytes.

    `peak_event` is the event after which the bytes first had their peak, and `live_bytes_at_peak`
    belongs to it. `min_event` is the event after which they were first at their minimum.
    `bytes_at_max_live` belongs to the event after which live bytes first had theirs.
    `mean_bytes` is the mean over all events, and `mean_to_live` the mean of the ratio to the live
    bytes over the events with live bytes after them. `mean_to_live_by_bytes` weights each event by
    the bytes that it allocated (nan without such events).
    """

    peak_bytes: float
    peak_event: int
    live_bytes_at_peak: int
    bytes_at_max_live: float
    min_event: int
    final_bytes: float
    mean_bytes: float
    mean_to_live: float
    mean_to_live_by_bytes: float
    timeline: Timeline = field(repr=False, compare=False)

    @property
    def min_bytes(self) -> float:
        """The minimum over all events; 0 for an empty trace."""
        return float(self.timeline.heap_low.min()) if len(self.timeline.heap_low) else 0.0
