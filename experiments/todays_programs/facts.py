"""Single facts for the words of the page, each worked out from the traces and runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.todays_programs.cases import PAIR
from experiments.todays_programs.programs import PROGRAMS
from simalloc.heap import simulate
from simalloc.measure.pins import pins
from simalloc.trace import Op

if TYPE_CHECKING:
    from experiments.todays_programs.measuring import Results
    from simalloc.heap import Run
    from simalloc.trace import Trace

LARGE: Final = 16 << 10
HUGE: Final = 1 << 20


@dataclass(frozen=True)
class GrowingBlock:
    """Perl's block that is grown most often, and the holes that best fit leaves behind.

    `gap` is the commonest number of bytes by which a request exceeds the one before, `holes` the
    largest free blocks when the heap has its peak (bytes), and `between` the median number of
    events from one growth to the next.
    """

    reallocs: int
    largest: int
    gap: int
    between: int
    holes: tuple[int, ...]


def growing_block(trace: Trace) -> GrowingBlock:
    """Return what happens to the block with the most reallocs."""
    grown = trace.op == Op.REALLOC
    most = int(np.argmax(np.bincount(trace.object[grown], minlength=trace.objects)))
    events = np.flatnonzero((trace.object == most) & (trace.op != Op.FREE))
    sizes = trace.size[events]
    gaps, counts = np.unique(np.diff(sizes), return_counts=True)
    run = simulate(trace, "best-fit-ao", addresses=True)
    alone = pins(trace, run, most=4).alone
    holes = sorted(
        {round(one.free_below) for one in alone} | {round(one.free_above) for one in alone}
    )
    return GrowingBlock(
        reallocs=int((grown & (trace.object == most)).sum()),
        largest=int(sizes.max()),
        gap=int(gaps[np.argmax(counts)]),
        between=int(np.median(np.diff(events))),
        holes=tuple(holes[-3:]),
    )


@dataclass(frozen=True)
class LargeRequests:
    """The requests above `LARGE` bytes: how many, how often larger than the one before.

    `gap` is the median by which those are larger, `life` the median of their lives in events.
    """

    count: int
    rising: int
    gap: int
    life: int


def large_requests(trace: Trace) -> LargeRequests:
    """Return what the large requests of a program without reallocs are like."""
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

    `before` and `after` are the heap before the first and after the last, `waste_before` is by how
    many percent `before` exceeds the peak of live bytes, `free` what is free before the first.
    """

    events: tuple[int, ...]
    sizes: tuple[int, ...]
    before: float
    after: float
    waste_before: float
    free: float


def huge_requests(trace: Trace, policy: str) -> HugeRequests:
    """Find the huge requests that raise a policy's heap, and what they cost it."""
    found: list[tuple[int, Run, Run]] = []
    for event in np.flatnonzero(trace.size > HUGE).tolist():
        before, after = (simulate(trace.prefix(event + ends), policy) for ends in (0, 1))
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
