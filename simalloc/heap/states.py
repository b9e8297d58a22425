"""A run put together from the states after each event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from simalloc.heap.run import Counters, Realloc, Run, Timeline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.heap.device_figures import DeviceFigures
    from simalloc.policy import Policy
    from simalloc.trace.trace import Trace

MAX_INTERVALS: Final = 2048
"""The most intervals that a timeline has."""


@dataclass(frozen=True, eq=False)
class Replay:
    """The states after each event, and what the heap counted on the way.

    Every array has one entry an event (int64) but `visited`, which has one a malloc of the policy:
    a realloc that is served in place makes none. `live` is in bytes of the program; `addresses` (-1
    for a free), `heap` and `allocated` (gross bytes in allocated blocks) are in scaled bytes.
    """

    addresses: NDArray[np.int64]
    live: NDArray[np.int64]
    heap: NDArray[np.int64]
    allocated: NDArray[np.int64]
    free_blocks: NDArray[np.int64]
    visited: NDArray[np.int64]
    growths: int
    splits: int
    coalescings: int
    deallocations: int
    visited_at_free: int
    visited_at_free_worst: int
    coalescing_frees: int
    seconds: float


def run_of_replay(
    raw: Replay, trace: Trace, policy: Policy, *, scale: int, realloc: Realloc
) -> Run:
    """Return what the states after each event of a trace come to."""
    return run_of_states(
        trace,
        policy,
        scale=scale,
        realloc=realloc,
        live=raw.live,
        scaled_heap=raw.heap,
        counters=_counters(raw, scale, event_of_most(raw.heap)),
        addresses=raw.addresses,
        seconds=raw.seconds,
    )


def run_of_states(
    trace: Trace,
    policy: Policy,
    *,
    scale: int,
    realloc: Realloc,
    live: NDArray[np.int64],
    scaled_heap: NDArray[np.int64],
    counters: Counters,
    addresses: NDArray[np.int64] | None,
    seconds: float,
    device: DeviceFigures | None = None,
) -> Run:
    """Return a run of a trace, or of its beginning, of which `live` and `scaled_heap` have states.

    Both have one entry an event that was carried out: bytes of the program, and scaled bytes.
    """
    events = len(live)
    series = timeline(live, scaled_heap / scale)
    at_peak, at_max = event_of_most(scaled_heap), event_of_most(live)
    live, heap = _or_zero(live), _or_zero(scaled_heap) / scale
    ratio = np.divide(heap, live, out=np.zeros(len(heap)), where=live > 0)
    return Run(
        trace=trace.name,
        policy=policy,
        scale=scale,
        realloc=realloc,
        events=events,
        objects=trace.objects,
        peak_heap_bytes=float(heap[at_peak]),
        peak_event=at_peak,
        final_heap_bytes=float(heap[-1]),
        max_live_bytes=int(live[at_max]),
        final_live_bytes=int(live[-1]),
        live_bytes_at_peak_heap=int(live[at_peak]),
        heap_bytes_at_max_live=float(heap[at_max]),
        mean_heap_to_live=mean(ratio, live > 0),
        # A free asks for no bytes, and after any other event with a size something is live.
        mean_heap_to_live_by_bytes=mean(ratio, _or_zero(trace.size[:events])),
        counters=counters,
        timeline=series,
        addresses=addresses,
        seconds=seconds,
        device=device,
    )


def event_of_most(series: NDArray[np.int64]) -> int:
    """Return the first event after which there is most; 0 if there are no events.

    Of whole numbers: as fractions, some would be as high as others.
    """
    return int(np.argmax(_or_zero(series)))


def mean(values: NDArray[Any], weights: NDArray[Any] | None = None) -> float:
    """Return the mean, nan if there is nothing of weight; its sums run from left to right."""
    if weights is None:
        weights = np.ones(len(values))
    total = left_to_right_sum(weights)
    return left_to_right_sum(values * weights) / total if total else math.nan


def left_to_right_sum(values: NDArray[Any]) -> float:
    """Return the float64 sum as a plain loop makes it; numpy's own `sum` adds in pairs."""
    return float(np.add.accumulate(values, dtype=np.float64)[-1]) if len(values) else 0.0


def timeline(live: NDArray[np.int64], heap: NDArray[np.float64]) -> Timeline:
    """Return the extremes of equal intervals: the shortest power of two that makes few enough.

    `live` and `heap` hold the states after each event, in bytes. The last interval may be shorter
    than the others; no events make no intervals.
    """
    interval = 1
    while len(live) > interval * MAX_INTERVALS:
        interval *= 2
    starts = np.arange(0, len(live), interval)
    extremes = [
        extreme.reduceat(series, starts).astype(np.float64) if len(starts) else np.empty(0)
        for series in (live, heap)
        for extreme in (np.minimum, np.maximum)
    ]
    return Timeline(interval, *extremes)


def _counters(raw: Replay, scale: int, at_peak: int) -> Counters:
    """Return what was counted."""
    live, heap, allocated = (
        int(_or_zero(series)[at_peak]) for series in (raw.live, raw.heap, raw.allocated)
    )
    return Counters(
        growths=raw.growths,
        splits=raw.splits,
        coalescings=raw.coalescings,
        free_blocks_mean=mean(raw.free_blocks),
        free_blocks_peak=int(raw.free_blocks.max(initial=0)),
        visited_mean=mean(raw.visited),
        visited_worst=int(raw.visited.max(initial=0)),
        visited_at_free_mean=raw.visited_at_free / max(raw.deallocations, 1),
        visited_at_free_worst=raw.visited_at_free_worst,
        coalescing_frees=raw.coalescing_frees,
        # Differences of whole numbers: those of quotients would lose digits.
        internal_bytes_at_peak_heap=(allocated - live * scale) / scale,
        external_bytes_at_peak_heap=(heap - allocated) / scale,
    )


def _or_zero(series: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the series, or for no events at all the one state that there is: nothing."""
    return series if len(series) else np.zeros(1, np.int64)
