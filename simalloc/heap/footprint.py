"""Measures of a number of bytes over a run: mapped, resident, or in the largest free block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Timeline:
    """Live bytes and heap bytes over time, with the extremes of each interval.

    Interval `i` covers the states after the events `i * interval` to `(i + 1) * interval - 1`. Each
    array has one entry per interval (float64, bytes). `interval` is a power of two.
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
    are the live bytes after that event. `min_event` is the event after which the bytes first had
    their minimum. `bytes_at_max_live` are the bytes after the event at which live bytes first had
    their peak. `mean_bytes` is the mean over all events. `mean_to_live` is the mean of bytes / live
    bytes, over the events that leave live bytes. `mean_to_live_by_bytes` weights each of these
    events by the bytes that it allocated (nan without such events).
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
        """Minimum over all events; 0 for an empty trace."""
        return float(self.timeline.heap_low.min()) if len(self.timeline.heap_low) else 0.0
