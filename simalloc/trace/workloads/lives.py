"""From objects with sizes and ends to the events of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from simalloc.trace.events import Op
from simalloc.trace.trace import Trace


def trace_of_lives(
    size: ArrayLike,
    until: ArrayLike,
    *,
    order: ArrayLike | None = None,
    threads: tuple[ArrayLike, ArrayLike] | None = None,
    name: str,
    provenance: Mapping[str, Any],
) -> Trace:
    """Return the trace of objects that are allocated in turn and freed at given times.

    Object i has `size[i]` bytes and is freed just before object `until[i]` is allocated: `until[i]`
    exceeds i. The number of objects means the end of the trace, anything above it never. Objects
    freed at the same time go by ascending `order`, or as they were allocated. `threads` has the
    threads that allocate and that free each object. All arrays are one-dimensional, of one entry
    an object.
    """
    sizes = np.asarray(size, np.int64)
    ends = np.asarray(until, np.int64)
    objects = len(sizes)
    born = np.arange(objects)
    if np.any(ends <= born):
        raise ValueError("an object is freed before it is allocated")
    freed = np.flatnonzero(ends <= objects)
    rank = freed if order is None else np.asarray(order)[freed]
    freed = freed[np.lexsort((rank, ends[freed]))]
    # The objects born before an object, and the objects freed until then, precede it.
    frees = np.arange(len(freed)) + ends[freed]
    op = np.full(objects + len(freed), Op.MALLOC, np.uint8)
    op[frees] = Op.FREE
    mallocs = op == Op.MALLOC
    key, requested = np.empty(len(op), np.int64), np.zeros(len(op), np.int64)
    key[frees], key[mallocs], requested[mallocs] = freed, born, sizes
    thread = None
    if threads is not None:
        thread = np.where(mallocs, *(np.asarray(each, np.uint32)[key] for each in threads))
    return Trace.from_events(op, key, requested, name=name, provenance=provenance, thread=thread)
