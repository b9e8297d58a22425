"""Single facts for the text of the page, each computed from the traces and runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from experiments.todays_programs.cases import PAIR
from experiments.todays_programs.measuring import Results
from experiments.todays_programs.programs import PROGRAMS
from simalloc.heap import FREE, Realloc, Run, heap_snapshot
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay, run_of
from simalloc.trace import Op, Trace

LARGE: Final = 16 << 10
HUGE: Final = 1 << 20
_SCALE: Final = 16
"""Factor by which sizes are multiplied, as in every other run of the page."""


@dataclass(frozen=True)
class Pieces:
    """The free blocks when a run's heap first reaches its peak; sizes are in bytes.

    `request` is the request that raised the heap to its peak. `largest` are the three largest free
    blocks in ascending order. `middling` is the share of free bytes, in percent, in blocks of 64 to
    4,096 bytes. `holes`, `hole_bytes`, `bytes_between` and `objects_between` describe the free
    blocks of a minimum size: their number, their total, and the medians of the bytes and objects
    between neighbouring holes.
    """

    request: int
    count: int
    free: float
    median: float
    largest: tuple[float, ...]
    middling: float
    holes: int
    hole_bytes: float
    bytes_between: float
    objects_between: float


def pieces(trace: Trace, run: Run, hole: int) -> Pieces:
    """Return the free blocks at the peak; holes have at least `hole` bytes."""
    heap = heap_snapshot(trace, run)
    is_free = heap.object == FREE
    free = np.sort(heap.size[is_free])
    holes = np.flatnonzero(is_free & (heap.size >= hole))
    taken = np.cumsum(np.where(is_free, 0, heap.size))[holes]
    objects = np.cumsum(~is_free)[holes]
    middling = free[(free >= 64) & (free < 4096)].sum()
    return Pieces(
        request=int(trace.size[heap.event]),
        count=len(free),
        free=float(free.sum()),
        median=float(np.median(free)),
        largest=tuple(free[-3:].tolist()),
        middling=100 * float(middling / free.sum()),
        holes=len(holes),
        hole_bytes=float(heap.size[holes].sum()),
        bytes_between=_median(np.diff(taken)),
        objects_between=_median(np.diff(objects)),
    )


def _median(values: NDArray[np.float64] | NDArray[np.int64]) -> float:
    """Return the median, or 0 for an empty array."""
    return float(np.median(values)) if len(values) else 0.0


@dataclass(frozen=True)
class GrowingBlock:
    """Perl's block with the most growths.

    `gap` is the most frequent increase in bytes from one request to the next, and `between` the
    median number of events from one growth to the next.
    """

    reallocs: int
    largest: int
    gap: int
    between: int


def growing_block(trace: Trace) -> GrowingBlock:
    """Return the history of the block with the most reallocs."""
    grown = trace.op == Op.REALLOC
    most = int(np.argmax(np.bincount(trace.object[grown], minlength=trace.objects)))
    events = np.flatnonzero((trace.object == most) & (trace.op != Op.FREE))
    sizes = trace.size[events]
    gaps, counts = np.unique(np.diff(sizes), return_counts=True)
    return GrowingBlock(
        reallocs=int((grown & (trace.object == most)).sum()),
        largest=int(sizes.max()),
        gap=int(gaps[np.argmax(counts)]),
        between=int(np.median(np.diff(events))),
    )


@dataclass(frozen=True)
class LargeRequests:
    """The requests above `LARGE` bytes: their number, and the number larger than the previous one.

    `gap` is the median of these increases, `life` the median of the lifetimes in events.
    """

    count: int
    rising: int
    gap: int
    life: int


def large_requests(trace: Trace) -> LargeRequests:
    """Return the properties of the large requests of a program without reallocs."""
    events = np.flatnonzero(trace.size > LARGE)
    death = np.full(trace.objects, len(trace))
    freed = trace.op == Op.FREE
    death[trace.object[freed]] = np.flatnonzero(freed)
    gaps = np.diff(trace.size[events])
    return LargeRequests(
        len(events),
        int((gaps > 0).sum()),
        int(np.median(gaps[gaps > 0])),
        int(np.median(death[trace.object[events]] - events)),
    )


@dataclass(frozen=True)
class HugeRequests:
    """The requests above `HUGE` bytes that raise a policy's heap, in order.

    `before` and `after` are the heap before the first and after the last such request.
    `waste_before` is the excess of `before` over the peak live bytes in percent, and `free` the
    free bytes before the first such request.
    """

    events: tuple[int, ...]
    sizes: tuple[int, ...]
    before: float
    after: float
    waste_before: float
    free: float


def huge_requests(trace: Trace, policy: str) -> HugeRequests:
    """Find the huge requests that raise a policy's heap, and their cost."""
    setting = Setting.of(trace, policy, scale=_SCALE, realloc=Realloc.FREE_FIRST)
    simulation, reached = setting.simulation(), 0

    def run_until(event: int) -> Run:
        nonlocal reached
        replay(simulation, trace.replayed.part(reached, event))
        reached = event
        return run_of(simulation, setting)

    found: list[tuple[int, Run, Run]] = []
    for event in np.flatnonzero(trace.size > HUGE).tolist():
        before, after = (run_until(event + ends) for ends in (0, 1))
        if after.peak_heap_bytes > before.peak_heap_bytes:
            found.append((event, before, after))
    first, last = found[0][1], found[-1][2]
    return HugeRequests(
        tuple(event for event, _, _ in found),
        tuple(int(trace.size[event]) for event, _, _ in found),
        first.peak_heap_bytes,
        last.peak_heap_bytes,
        100 * (first.peak_heap_bytes / last.max_live_bytes - 1),
        first.final_heap_bytes - first.final_live_bytes,
    )


def near_zero(results: Results, limit: float) -> dict[str, int]:
    """Return on how many programs each of `PAIR`, and the better one, wastes at most `limit` %."""
    better = sum(
        min(results.waste(program, policy) for policy in PAIR) <= limit for program in PROGRAMS
    )
    each = {
        policy: sum(results.waste(program, policy) <= limit for program in PROGRAMS)
        for policy in PAIR
    }
    return {**each, "better": better}
