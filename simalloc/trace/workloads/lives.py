"""From objects with sizes and ends to the events of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike


def trace_of_lives(
    size: ArrayLike,
    until: ArrayLike,
    *,
    order: ArrayLike | None = None,
    name: str,
    provenance: Mapping[str, Any],
) -> Trace:
    """Return the trace of objects that are allocated in turn and freed at given times.

    Object i has `size[i]` bytes and is freed just before object `until[i]` is allocated: `until[i]`
    exceeds i. The number of objects means the end of the trace, anything above it never. Objects
    freed at the same time go by ascending `order`, or as they were allocated. All arrays are
    one-dimensional, of one entry an object.
    """
    sizes = np.asarray(size, np.int64)
    ends = np.asarray(until, np.int64)
    objects = np.arange(len(sizes))
    if np.any(ends <= objects):
        raise ValueError("an object is freed before it is allocated")
    freed = np.flatnonzero(ends <= len(sizes))
    rank = objects if order is None else np.asarray(order)
    # The malloc of object k is at time 2k + 1, frees just before it are at 2k.
    time = np.concatenate([2 * objects + 1, 2 * ends[freed]])
    turn = np.lexsort((np.concatenate([rank, rank[freed]]), time))
    ops = np.repeat([Op.MALLOC, Op.FREE], [len(objects), len(freed)])
    return Trace.from_events(
        ops[turn],
        np.concatenate([objects, freed])[turn],
        np.concatenate([sizes, np.zeros(len(freed), np.int64)])[turn],
        name=name,
        provenance=provenance,
    )
