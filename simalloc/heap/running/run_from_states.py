"""Construction of a run from the states after each event."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap.device_figures import device_figures
from simalloc.heap.footprint import Footprint, Timeline
from simalloc.heap.run import NO_REFUSALS, Counters, Refusals, Run
from simalloc.heap.running.setting import Setting
from simalloc.policy.device import Device
from simalloc.trace.at_start import live_at_start

MAX_INTERVALS: Final = 2048
"""Maximum number of intervals of a timeline."""


@dataclass(frozen=True, eq=False)
class Replay:
    """The states after each event, and the counters of the heap.

    Every array has one entry per event (int64) except `visited`, which has one per search of the
    policy; a realloc in place makes none. `live` is in program bytes. `addresses` (-1 for a free),
    `heap`, `allocated` (total size of allocated blocks) and, on request, `resident`, `occupied` (by
    page size) and `largest_free` (size of the largest free block) are in scaled bytes.
    """

    addresses: NDArray[np.int64]
    live: NDArray[np.int64]
    heap: NDArray[np.int64]
    allocated: NDArray[np.int64]
    free_blocks: NDArray[np.int64]
    resident: NDArray[np.int64] | None
    largest_free: NDArray[np.int64] | None
    occupied: Mapping[int, NDArray[np.int64]]
    visited: NDArray[np.int64]
    growths: int
    splits: int
    coalescings: int
    deallocations: int
    visited_at_free: int
    visited_at_free_worst: int
    coalescing_frees: int
    seconds: float
    reported: Mapping[str, int] = field(default_factory=dict)
    """The allocator's own statistics at the end, by its own names."""
    refusals: Refusals = NO_REFUSALS
    mappings: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 3), np.int64))
    """Memory taken from a device and returned to it: event, address and bytes, negative if
    returned."""


def run_of_replay(raw: Replay, setting: Setting) -> Run:
    """Return the run with these states after each event of a trace, or of a part of it."""
    trace, description, scale = (
        setting.source.in_memory(),
        setting.policy.description,
        setting.scale,
    )
    live, refusals = raw.live, raw.refusals
    sizes = trace.size[: len(live)]
    if refusals.refused:
        sizes = np.where(raw.addresses < 0, 0, sizes)
    measured = partial(footprint_of_states, live, sizes=sizes, scale=scale)
    device = None
    if isinstance(description, Device):
        refused = refusals.refused, refusals.first_refused_event
        device = device_figures(description, raw.reported, *refused)
    return Run(
        trace=trace.name,
        policy=setting.policy,
        options=setting.options,
        events=len(live),
        objects=trace.objects,
        max_live_bytes=int(_or_zero(live).max()),
        final_live_bytes=int(_or_zero(live)[-1]),
        mapped=measured(raw.heap),
        threads=trace.threads,
        replayed_threads=setting.replayed_threads,
        resident=None if raw.resident is None else measured(raw.resident),
        largest_free=None if raw.largest_free is None else measured(raw.largest_free),
        occupied={size: measured(scaled) for size, scaled in raw.occupied.items()},
        counters=_counters(raw, scale, event_of_most(raw.heap)),
        addresses=raw.addresses,
        seconds=raw.seconds,
        device=device,
        refusals=refusals,
        live_at_start=live_at_start(trace.provenance),
    )


def footprint_of_states(
    live: NDArray[np.int64], scaled: NDArray[np.int64], sizes: NDArray[np.int64], scale: int
) -> Footprint:
    """Return the footprint of scaled bytes after each event, from the live and requested bytes."""
    series = timeline(live, scaled / scale)
    at_peak, at_max = event_of_most(scaled), event_of_most(live)
    events = len(live)
    live, taken = _or_zero(live), _or_zero(scaled) / scale
    ratio = np.divide(taken, live, out=np.zeros(len(taken)), where=live > 0)
    return Footprint(
        peak_bytes=float(taken[at_peak]),
        peak_event=at_peak,
        live_bytes_at_peak=int(live[at_peak]),
        bytes_at_max_live=float(taken[at_max]),
        min_event=int(np.argmin(_or_zero(scaled))),
        final_bytes=float(taken[-1]),
        mean_bytes=mean(taken) if events else math.nan,
        mean_to_live=mean(ratio, live > 0),
        # No mask is needed: events that leave no live bytes have a requested size of 0.
        mean_to_live_by_bytes=mean(ratio, _or_zero(sizes)),
        timeline=series,
    )


def event_of_most(series: NDArray[np.int64]) -> int:
    """Return the first event with the maximum of a series of integers; 0 for an empty trace.

    Fractions would round some different maxima to the same value.
    """
    return int(np.argmax(_or_zero(series)))


def mean(values: NDArray[Any], weights: NDArray[Any] | None = None) -> float:
    """Return the mean, or nan if the weights total 0. Sums run from left to right."""
    if weights is None:
        weights = np.ones(len(values))
    total = left_to_right_sum(weights)
    return left_to_right_sum(values * weights) / total if total else math.nan


def left_to_right_sum(values: NDArray[Any]) -> float:
    """Return the float64 sum of a plain loop; numpy's `sum` adds in pairs."""
    return float(np.add.accumulate(values, dtype=np.float64)[-1]) if len(values) else 0.0


def timeline(live: NDArray[np.int64], heap: NDArray[np.float64]) -> Timeline:
    """Return the extremes of equal intervals.

    The interval is the smallest power of two that makes at most `MAX_INTERVALS` intervals. `live`
    and `heap` are the states after each event, in bytes. The last interval may be shorter than the
    others. A trace without events has no intervals.
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
    """Return the counters of a replay."""
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
        # Whole numbers are subtracted, because differences of quotients would lose digits.
        internal_bytes_at_peak_heap=(allocated - live * scale) / scale,
        external_bytes_at_peak_heap=(heap - allocated) / scale,
    )


def _or_zero(series: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the series, or a single 0 for a trace without events."""
    return series if len(series) else np.zeros(1, np.int64)
