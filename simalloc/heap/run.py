"""What came out of a simulation, in bytes of the program (not scaled)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from simalloc.plural import counted
from simalloc.shown import ShownAsTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from simalloc.heap.device_figures import DeviceFigures
    from simalloc.policy import Policy


class Realloc(Enum):
    """What a realloc event does (docs/policies.md)."""

    FREE_FIRST = "free-first"
    MOVE = "move"
    IN_PLACE = "in-place"


@dataclass(frozen=True)
class Counters:
    """What the policy did on the way (docs/policies.md says what is counted)."""

    growths: int
    splits: int
    coalescings: int
    free_blocks_mean: float
    free_blocks_peak: int
    visited_mean: float
    visited_worst: int
    visited_at_free_mean: float
    visited_at_free_worst: int
    coalescing_frees: int
    internal_bytes_at_peak_heap: float
    external_bytes_at_peak_heap: float


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
class Found:
    """How the heap of `best-possible` was found.

    `bound_bytes` is the peak of live bytes as blocks take them: no placement is lower. `is_bound`
    says that the heap has just that. `how` is the one of the `tries` that found it; a search that
    was `stopped` by Ctrl-C had more to try.
    """

    bound_bytes: float
    is_bound: bool
    how: str
    tries: int
    stopped: bool

    def __str__(self) -> str:
        what = (
            "the bound itself"
            if self.is_bound
            else f"the best of {counted(self.tries, 'try', 'tries')}"
        )
        stopped = ", stopped before the last" if self.stopped and not self.is_bound else ""
        return f"{what}{stopped}: {self.how}"


@dataclass(frozen=True)
class Run(ShownAsTable):
    """One trace under one policy. Byte figures are divided by `scale`.

    `mean_heap_to_live` is the mean of heap / live over the events after which something was live,
    and `mean_heap_to_live_by_bytes` the same with each event weighted by the bytes it allocated
    (nan where there are none). `peak_event` is the event after which the heap first had its peak.
    `live_bytes_at_peak_heap` belongs to it, and `heap_bytes_at_max_live` to the one after which
    live bytes first had theirs.
    `addresses` (int64, scaled bytes) has the object's address after each event, -1 for a free; it
    is kept on request. `seconds` is the time of the replay alone. `found` is there for
    `best-possible` alone, and `device` for device allocators, whose run ends with the first request
    that cannot be served.
    """

    trace: str
    policy: Policy
    scale: int
    realloc: Realloc
    events: int
    objects: int
    peak_heap_bytes: float
    peak_event: int
    final_heap_bytes: float
    max_live_bytes: int
    final_live_bytes: int
    live_bytes_at_peak_heap: int
    heap_bytes_at_max_live: float
    mean_heap_to_live: float
    mean_heap_to_live_by_bytes: float
    counters: Counters
    timeline: Timeline = field(repr=False, compare=False)
    addresses: NDArray[np.int64] | None = field(default=None, repr=False, compare=False)
    seconds: float = field(default=0.0, compare=False)
    device: DeviceFigures | None = None
    found: Found | None = None
