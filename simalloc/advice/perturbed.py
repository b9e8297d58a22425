"""Random variants of a trace: another start of the heap, or another order of threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from simalloc.trace import Op, Trace

PERTURBED: Final = 4
"""Maximum number of traces that `perturbed` yields."""

_KEPT: Final = frozenset({"time", "thread"})
"""Columns for which an added event gets the values of the next event."""


def perturbed(trace: Trace, first: int = 0) -> Iterator[Trace]:
    """Yield a few variants of a trace that differ in properties outside the program's control.

    In two variants a block is allocated before event `first`; the heap then grows at other moments,
    and objects are elsewhere in their pages. If the trace has threads, two more variants have their
    events in other orders from that event on. Each event before `first` allocates an object.
    """
    yield begun_elsewhere(trace, 1040, first)
    yield begun_elsewhere(trace, 73_000, first)
    if trace.thread is not None and trace.thread.any():
        yield in_another_order(trace, 1, first)
        yield in_another_order(trace, 2, first)


def begun_elsewhere(trace: Trace, size: int, first: int = 0) -> Trace:
    """Return the trace with an object of `size` bytes added at event `first` and never freed."""
    columns = {
        name: np.insert(values, first, values[min(first, len(values) - 1)] if name in _KEPT else 0)
        for name, values in trace.columns.items()
    }
    return Trace.from_events(
        np.insert(trace.op, first, Op.MALLOC),
        np.insert(trace.object + (trace.object >= first), first, first),
        np.insert(trace.size, first, size),
        name=trace.name,
        provenance=trace.provenance,
        **columns,
    )


def in_another_order(trace: Trace, seed: int, first: int = 0) -> Trace:
    """Return the trace with some neighbouring events of different threads swapped.

    Events of one object, of one thread, and before `first` keep their order.
    """
    assert trace.thread is not None, "only traces with threads are perturbed"
    random = np.random.default_rng(seed)
    order = np.arange(len(trace))
    for parity in (0, 1) * 4:
        low = order[first + parity : -1 : 2]
        high = order[first + parity + 1 :: 2]
        may = (trace.thread[low] != trace.thread[high]) & (trace.object[low] != trace.object[high])
        may &= (
            (trace.object[low] >= 0) & (trace.object[high] >= 0) & (random.random(len(low)) < 0.5)
        )
        swapped = np.where(may, high, low), np.where(may, low, high)
        order[first + parity : -1 : 2], order[first + parity + 1 :: 2] = swapped
    columns = {name: values[order] for name, values in trace.columns.items()}
    if "time" in columns:
        columns["time"] = trace.columns["time"]  # times remain in ascending order
    return Trace.from_events(
        trace.op[order],
        trace.object[order],
        trace.size[order],
        name=trace.name,
        provenance=trace.provenance,
        **columns,
    )
