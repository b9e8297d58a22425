"""Which code holds what of the heap of a trace under a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap import Run, moment, simulate
from simalloc.measure.sites.pinned import held_by
from simalloc.measure.sites.usage import sites_of
from simalloc.trace.sample import sampled_every

if TYPE_CHECKING:
    from collections.abc import Callable

    from simalloc.measure.sites.pinned import Held
    from simalloc.policy import AnyPolicy
    from simalloc.trace import Trace

At = Literal["peak", "end"]
"""When a heap is looked at."""


def held_under(
    trace: Trace,
    policy: AnyPolicy | Run,
    *,
    at: At | None = None,
    page: int = 4096,
    progress: Callable[[int], None] = lambda _: None,
) -> Held:
    """Return what each site holds of the heap under a policy: at its peak, or at the end.

    Without `at` it is the end, or the peak if nothing is live at the end. A run is not made anew.
    `progress` is called with the number of events done since its last call, of twice as many as the
    trace has, or once for a run. Raises `SimallocError` if the trace has no sites or is a sample,
    and as `simulate` does.
    """
    column = sites_of(trace)
    if sampled_every(trace.provenance):
        raise SimallocError(
            f"{trace.name} is a sample, which does not say what lies beside what in a heap; record "
            "without --every to ask what is pinned"
        )
    run = policy if isinstance(policy, Run) else simulate(trace, policy, progress=progress)
    ends = at == "end" or (at is None and run.final_live_bytes > 0)
    event = len(trace) - 1 if ends else run.peak_event
    heap = moment(trace, run, event, progress=progress)
    site = np.where(heap.since >= 0, column[np.maximum(heap.since, 0)], 0).astype(np.int64)
    payload = run.policy.description.payload
    sites = int(column.max(initial=0)) + 1
    return held_by(heap, site, sites, scale=run.scale, page=page, payload=payload)
