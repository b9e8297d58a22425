"""Requests of each call site, independent of the policy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.trace import Trace
from simalloc.trace.events import allocates
from simalloc.trace.sample import blocks_like, sampled_every


@dataclass(frozen=True, eq=False)
class Usage:
    """Requests of each call site; every int64 array has an entry for each site's number.

    A block belongs to the site of its last request, which can be a realloc. `live_bytes` are live
    at the peak of all live bytes, and `final_bytes` at the end. `allocated_bytes` and `allocations`
    cover the whole trace. `never_freed` and `temporary` count allocations; temporary ones are freed
    by the next event. `lived_events` is the sum of the lifetimes, in events, of the blocks that are
    freed or reallocated.
    """

    peak_event: int
    live_bytes: NDArray[np.int64]
    final_bytes: NDArray[np.int64]
    allocated_bytes: NDArray[np.int64]
    allocations: NDArray[np.int64]
    never_freed: NDArray[np.int64]
    temporary: NDArray[np.int64]
    lived_events: NDArray[np.int64]


def sites_of(trace: Trace) -> NDArray[np.uint32]:
    """Return the site of each event of a trace. Raises `SimallocError` if it has no sites."""
    if trace.site is None:
        raise SimallocError(f"{trace.name} has no call sites; record it with --stacks")
    return trace.site


def usage_of(trace: Trace) -> Usage:
    """Return the requests of each site of a trace. Raises `SimallocError` without sites.

    For a sample the figures are estimates for the whole, except the peak's event.
    """
    column = sites_of(trace)
    start, end = stays(trace)
    site, size = column[start].astype(np.int64), trace.size[start]
    count = int(column.max(initial=0)) + 1
    ended = end < len(trace)
    every = sampled_every(trace.provenance)
    alike = blocks_like(size, every)
    stands_for = size * alike if every else size
    change = np.bincount(start, stands_for, len(trace) + 1) - np.bincount(
        end, stands_for, len(trace) + 1
    )
    peak = int(np.argmax(change[:-1].cumsum())) if len(trace) else 0

    def total(values: NDArray[np.int64]) -> NDArray[np.int64]:
        if every:
            return np.rint(np.bincount(site, values * alike, count)).astype(np.int64)
        found = np.zeros(count, np.int64)
        np.add.at(found, site, values)  # the weights of a bincount are floats, and round
        return found

    return Usage(
        peak_event=peak,
        live_bytes=total(np.where((start <= peak) & (end > peak), size, 0)),
        final_bytes=total(np.where(ended, 0, size)),
        allocated_bytes=total(size),
        allocations=total(np.ones(len(start), np.int64)),
        never_freed=total((~ended).astype(np.int64)),
        temporary=total((ended & (end == start + 1)).astype(np.int64)),
        lived_events=total(np.where(ended, end - start, 0)),
    )


def stays(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the event that begins each block, and the event that ends it.

    A block ends with the free or the realloc of its object. If it is never freed, the end is the
    number of events.
    """
    begins = allocates(trace.op)
    of_object = np.flatnonzero(trace.object >= 0)
    order = of_object[np.argsort(trace.object[of_object], kind="stable")]
    following = np.full(len(trace), len(trace), np.int64)
    same = trace.object[order[:-1]] == trace.object[order[1:]]
    following[order[:-1][same]] = order[1:][same]
    start = np.flatnonzero(begins)
    return start, following[start]
