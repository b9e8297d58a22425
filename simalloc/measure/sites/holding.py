"""The bytes of a trace's heap under a policy that each call site holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap import HeapReplay, HeapSnapshot, Run, event_or_peak, simulate
from simalloc.heap.quantity import Quantity, measuring
from simalloc.heap.run_options import RunOptions
from simalloc.measure.sites.pinned import Held, held_by
from simalloc.measure.sites.usage import sites_of
from simalloc.policy import AnyPolicy
from simalloc.trace import Trace
from simalloc.trace.sample import sampled_every

At = Literal["worst", "peak", "end"]
"""The moment at which a heap is examined."""

MOMENTS: Final = 32
"""Number of moments, in addition to the peak, from which the worst is chosen."""


def held_under(
    trace: Trace,
    policy: AnyPolicy | Run,
    *,
    at: At = "worst",
    of: Quantity = "mapped",
    page: int = 4096,
    progress: Callable[[int], None] = lambda _: None,
) -> Held:
    """Return the bytes that each site holds under a policy at one moment.

    The moment is the peak, the end or the worst moment. The peak is the first event with the worst
    value of a quantity (heap/quantity.py). The worst moment has the largest waste, weighted by its
    share of the occupied pages. It is the default because programs free much before they end: the
    end does not show the objects that pinned the heap until then. A run is not replayed again.
    `progress` is called with the number of events done since its last call; the total is twice the
    trace's events, or once for a run. Raises `SimallocError` if the trace has no sites or is a
    sample, and in the cases of `simulate`.
    """
    sites_of(trace)
    if sampled_every(trace.provenance):
        raise SimallocError(
            f"{trace.name} is a sample, which lacks the neighbours of its objects; record "
            "without --every to find pinned bytes"
        )
    run = (
        policy
        if isinstance(policy, Run)
        else simulate(trace, policy, measuring(RunOptions(page=page), [of]), progress=progress)
    )
    peak = event_or_peak(trace, run, None, of)
    events = {"worst": {peak, *moments_of(trace)}, "peak": {peak}, "end": {len(trace) - 1}}
    search = _Search(trace, run, page, sorted(events[at]))
    HeapReplay(trace, run, [search], events=0, progress=progress).go()
    return search.worst


def moments_of(trace: Trace) -> list[int]:
    """Return `MOMENTS` events of a trace, or all if it has fewer, evenly spaced up to the end."""
    count = min(MOMENTS, len(trace))
    return [(place + 1) * len(trace) // count - 1 for place in range(count)]


class _Search:
    """An observer that examines a heap after some events, and keeps the worst result."""

    worst: Held
    _score = -1.0

    def __init__(self, trace: Trace, run: Run, page: int, events: list[int]) -> None:
        self.events = events
        self._column = sites_of(trace)
        self._sites = int(self._column.max(initial=0)) + 1
        self._run, self._page = run, page

    def look(self, heap: HeapReplay) -> None:
        """Examine the whole heap."""
        seen = HeapSnapshot.joined(list(heap.parts()))
        held = held_by(
            seen,
            np.where(seen.since >= 0, self._column[np.maximum(seen.since, 0)], 0).astype(np.int64),
            self._sites,
            scale=self._run.scale,
            page=self._page,
            payload=self._run.policy.description.payload,
        )
        pages = held.free_bytes + float(seen.requested.sum())
        score = held.free_bytes**2 / pages if pages else 0.0
        if score >= self._score:
            self.worst, self._score = held, score
