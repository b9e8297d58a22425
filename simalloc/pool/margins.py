"""Margins: the pool that also serves the program's other orders, sizes and phases."""

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
    """A policy's pools for the recorded traces, and for these with their variations.

    `worst` is the variation (or recorded trace) that needs the most: one that a pool smaller by one
    grain refuses. None: no pool was found.
    `variations` is the number of variations of each trace.
    """

    recorded: Answer
    varied: Answer
    worst: Trace | None
    variations: int

    @property
    def share(self) -> float | None:
        """By how much the smallest pool grows, as a share of the one for the recorded traces."""
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
    """Return the first of some traces that a pool one grain below the smallest refuses."""
    if answer.sizes is None:
        return None
    below = answer.sizes.smallest - answer.sizes.grain
    for trace in traces:
        if PoolTrial.of(answer.policy, [trace])(below).refused:
            return trace
    return None


def worst_program(traces: Sequence[Trace]) -> float | None:
    """Return the bytes that a worst program needs under any allocator, by Robson's bound.

    The program has the traces' peak of live bytes, in objects from their smallest to their largest
    size. Headers are not counted. None: the traces have no requests.
    """
    peak, sizes = 0, list[int]()
    for trace in traces:
        asked = trace.size[allocates(trace.op)]
        asked = asked[asked > 0]
        if len(asked):
            sizes += [int(asked.min()), int(asked.max())]
            peak = max(peak, int(trace.replayed.live.max()))
    return robson_bound(peak, max(sizes), min(sizes)) if sizes else None
