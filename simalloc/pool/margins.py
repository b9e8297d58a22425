"""Safety margins: the pool that also serves the program with other orders, sizes and phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simalloc.bound.proven import robson_bound
from simalloc.pool.answer import Answer
from simalloc.pool.trial import PoolTrial
from simalloc.pool.variations import WINDOW, variation
from simalloc.trace import Trace
from simalloc.trace.events import allocates


@dataclass(frozen=True)
class Margin:
    """A policy's pools for the recorded traces, and for the traces with their variations.

    `worst` is the variation (or recorded trace) that needs the largest pool: a pool smaller by one
    grain refuses it. `worst` is None if no pool was found. `variations` is the number of variations
    of each trace.
    """

    recorded: Answer
    varied: Answer
    worst: Trace | None
    variations: int

    @property
    def share(self) -> float | None:
        """Relative growth of the smallest pool over the pool for the recorded traces, or None."""
        if self.recorded.sizes is None or self.varied.sizes is None:
            return None
        return self.varied.sizes.smallest / self.recorded.sizes.smallest - 1


def with_variations(
    traces: Sequence[Trace], count: int, seed: int = 1, window: int = WINDOW
) -> list[Trace]:
    """Return the traces and `count` variations of each."""
    varied = list(traces)
    for trace in traces:
        varied += [variation(trace, n, seed, window).trace for n in range(1, count + 1)]
    return varied


def worst_of(traces: Sequence[Trace], answer: Answer) -> Trace | None:
    """Return the first trace that a pool one grain below the smallest refuses, or None."""
    if answer.sizes is None:
        return None
    below = answer.sizes.smallest - answer.sizes.grain
    for trace in traces:
        if PoolTrial.of(answer.policy, [trace])(below).refused:
            return trace
    return None


def worst_program(traces: Sequence[Trace]) -> float | None:
    """Return the bytes that a worst-case program needs under the best allocator (Robson's bound).

    The program has the traces' peak of live bytes, in objects from their smallest to their largest
    size. Headers are not counted. The result is None if the traces have no requests.
    """
    peak, sizes = 0, list[int]()
    for trace in traces:
        asked = trace.size[allocates(trace.op)]
        asked = asked[asked > 0]
        if len(asked):
            sizes += [int(asked.min()), int(asked.max())]
            peak = max(peak, int(trace.replayed.live.max()))
    return robson_bound(peak, max(sizes), min(sizes)) if sizes else None
