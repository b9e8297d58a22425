"""Conversion of objects with sizes and ends to the events of a trace."""

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
    """Return the trace of objects that are allocated in order and freed at given times.

    Object i has `size[i]` bytes and is freed just before object `until[i]` is allocated; `until[i]`
    exceeds i. If `until[i]` is the number of objects, object i is freed at the end of the trace. If
    it is larger, object i is never freed. Objects that are freed at the same time are freed by
    ascending `order`, or in the order of allocation. `threads` contains the threads that allocate
    and that free each object. All arrays are one-dimensional with one entry per object.
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
    # The event number of a free is the number of births and frees before it.
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
