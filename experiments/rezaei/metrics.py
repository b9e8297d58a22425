"""The paper's metrics (section 5.1), computed from a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from simalloc.heap import Run


class Metric(NamedTuple):
    """A metric, the number of the paper's figure that shows it, and its function of a run."""

    figure: str
    title: str
    of: Callable[[Run], float]


def nodes(run: Run) -> float:
    """Return the nodes that an allocation searches, on average."""
    return run.counters.visited_mean


def nodes_with_free(run: Run) -> float:
    """Return the mean nodes searched by an allocation and a deallocation; a list's front counts 0.

    The paper counts 0 nodes for a deallocation into a list, although the list visits one node.
    """
    lists = run.policy.family == "segregated fit"
    return nodes(run) + (0 if lists else run.counters.visited_at_free_mean)


def worst(run: Run) -> float:
    """Return the maximum number of nodes that one allocation or deallocation searched."""
    return max(run.counters.visited_worst, run.counters.visited_at_free_worst)


def internal(run: Run) -> float:
    """Return the internal fragmentation at the peak heap, in percent of the requested bytes."""
    return 100 * run.counters.internal_bytes_at_peak_heap / run.live_bytes_at_peak_heap


def wasted(run: Run) -> float:
    """Return the heap beyond the peak live bytes, in percent of the heap."""
    return 100 * (1 - run.max_live_bytes / run.peak_heap_bytes)


METRICS: Final = (
    Metric("3", "nodes searched at an allocation", nodes),
    Metric("5", "calls of sbrk", lambda run: run.counters.growths),
    Metric("6", "nodes at an allocation and a deallocation", nodes_with_free),
    Metric("7", "free blocks, mean", lambda run: run.counters.free_blocks_mean),
    Metric("8", "internal fragmentation, percent", internal),
    Metric("9", "most nodes searched", worst),
)
