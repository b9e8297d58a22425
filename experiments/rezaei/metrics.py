"""The paper's metrics (section 5.1) of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from simalloc.heap import Run


class Metric(NamedTuple):
    """A metric, which of the paper's figures shows it, and how it is read off a run."""

    figure: str
    title: str
    of: Callable[[Run], float]


def nodes(run: Run) -> float:
    """Return the nodes that an allocation searches, on average."""
    return run.counters.visited_mean


def nodes_with_free(run: Run) -> float:
    """Return the nodes that an allocation and a deallocation search; a list's front is not counted.

    The paper counts 0 for a list when it adds them up, though a list pays one node.
    """
    lists = run.policy.family == "segregated fit"
    return nodes(run) + (0 if lists else run.counters.visited_at_free_mean)


def worst(run: Run) -> float:
    """Return the most nodes that one allocation or deallocation has searched."""
    return max(run.counters.visited_worst, run.counters.visited_at_free_worst)


def internal(run: Run) -> float:
    """Return bytes allocated beyond the requested ones, in percent of these, at the peak heap."""
    return 100 * run.counters.internal_bytes_at_peak_heap / run.live_bytes_at_peak_heap


def wasted(run: Run) -> float:
    """Return the heap beyond the most live bytes, in percent of the heap."""
    return 100 * (1 - run.max_live_bytes / run.peak_heap_bytes)


METRICS: Final = (
    Metric("3", "nodes searched at an allocation", nodes),
    Metric("5", "calls of sbrk", lambda run: run.counters.growths),
    Metric("6", "nodes at an allocation and a deallocation", nodes_with_free),
    Metric("7", "free blocks, mean", lambda run: run.counters.free_blocks_mean),
    Metric("8", "internal fragmentation, percent", internal),
    Metric("9", "most nodes searched", worst),
)
