"""The same trace as chance might have had it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from simalloc.trace import Op, Trace

PERTURBED: Final = 4
"""Maximum number of traces that `perturbed` yields."""


def perturbed(trace: Trace) -> Iterator[Trace]:
    """Yield a few traces that differ from one by what no program decides.

    In two of them other blocks come first, so that the heap grows at other moments and objects lie
    elsewhere in their pages; where there are threads, in two their events come in other orders.
    """
    yield begun_elsewhere(trace, 1040)
    yield begun_elsewhere(trace, 73_000)
    if trace.thread is not None and trace.thread.any():
        yield in_another_order(trace, seed=1)
        yield in_another_order(trace, seed=2)


def begun_elsewhere(trace: Trace, size: int) -> Trace:
    """Return the trace after one more object of `size` bytes, which is never freed."""
    columns = {name: np.insert(values, 0, values[:1] if name in {"time", "thread"} else 0)
               for name, values in trace.columns.items()}  # fmt: skip
    return Trace.from_events(
        np.insert(trace.op, 0, Op.MALLOC),
        np.insert(np.where(trace.object >= 0, trace.object + 1, trace.object), 0, 0),
        np.insert(trace.size, 0, size),
        name=trace.name,
        provenance=trace.provenance,
        **columns,
    )


def in_another_order(trace: Trace, seed: int) -> Trace:
    """Return the trace with neighbouring events of different threads swapped here and there.

    Events of one object, and of one thread, keep their order.
    """
    assert trace.thread is not None, "only threads can be in another order"
    random = np.random.default_rng(seed)
    order = np.arange(len(trace))
    for first in (0, 1) * 4:
        low = order[first:-1:2]
        high = order[first + 1 :: 2]
        may = (trace.thread[low] != trace.thread[high]) & (trace.object[low] != trace.object[high])
        may &= (
            (trace.object[low] >= 0) & (trace.object[high] >= 0) & (random.random(len(low)) < 0.5)
        )
        swapped = np.where(may, high, low), np.where(may, low, high)
        order[first:-1:2], order[first + 1 :: 2] = swapped
    columns = {name: values[order] for name, values in trace.columns.items()}
    if "time" in columns:
        columns["time"] = trace.columns["time"]  # the clock goes on as it did
    return Trace.from_events(
        trace.op[order],
        trace.object[order],
        trace.size[order],
        name=trace.name,
        provenance=trace.provenance,
        **columns,
    )
