"""The effect of a separate heap for the objects of some call sites."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import Run, simulate
from simalloc.heap.running.setting import Setting
from simalloc.heap.watch.each_event import Watched
from simalloc.measure.sites.holding import moments_of
from simalloc.policy import AnyPolicy
from simalloc.shown import ShownAsTable
from simalloc.trace import Trace

LOOKS: Final = 256
"""Number of evenly spaced moments at which resident memory is measured."""


@dataclass(frozen=True)
class Apart(ShownAsTable):
    """Resident bytes of one heap, and of two heaps with some objects in a separate heap.

    Both are measured at their own peaks among the examined moments: `LOOKS` moments and the peak of
    the single heap. They are also measured after `event`, the moment of the largest saving among
    `holding.MOMENTS`.
    """

    sites: tuple[int, ...]
    event: int
    peak_resident_bytes: float
    then_resident_bytes: float
    peak_apart_bytes: float
    then_apart_bytes: float

    @property
    def counts_then(self) -> bool:
        """True if the saving after `event` is at least the saving at the peaks."""
        at_peak = self.peak_resident_bytes - self.peak_apart_bytes
        return self.then_resident_bytes - self.then_apart_bytes >= at_peak

    @property
    def together_bytes(self) -> float:
        """Resident bytes with all objects in one heap, at the larger saving."""
        return self.then_resident_bytes if self.counts_then else self.peak_resident_bytes

    @property
    def apart_bytes(self) -> float:
        """Resident bytes with these objects in a separate heap, at the larger saving."""
        return self.then_apart_bytes if self.counts_then else self.peak_apart_bytes

    @property
    def saved(self) -> float:
        """Saved resident bytes."""
        return self.together_bytes - self.apart_bytes


class Parting:
    """A trace under a policy: replayed in one heap at first, and in two heaps by each `apart`.

    A `Run` with residence is not replayed again in one heap. `progress` is called with the number
    of events done since its last call; a replay in one heap and a replay in two heaps each count
    the trace's events once. Raises the same exceptions as `simulate`.
    """

    def __init__(
        self,
        trace: Trace,
        policy: AnyPolicy | Run,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        assert trace.site is not None, "the trace has call sites"
        self._trace, self._progress = trace, progress
        if isinstance(policy, Run):
            run = policy
        else:
            run = simulate(trace, policy, resident=True, progress=progress)
        assert run.resident is not None, "the run was simulated with resident=True"
        self._policy = run.policy
        evenly = np.linspace(0, len(trace) - 1, min(LOOKS, len(trace)), dtype=np.int64)
        moments = moments_of(trace)
        self._events = np.unique([run.resident.peak_event, *moments, *evenly])
        self._moments = np.searchsorted(self._events, moments)
        self._together = self._resident(np.ones(len(trace), bool))
        first = np.full(trace.objects, -1, np.int64)
        of_object = np.flatnonzero(trace.object >= 0)[::-1]
        first[trace.object[of_object]] = of_object  # keeps the earliest event
        self._site_of_object = trace.site[first]

    def apart(self, sites: Collection[int]) -> Apart:
        """Replay in two heaps: the objects first allocated at these sites get a separate heap."""
        number = self._trace.object
        own = (number >= 0) & np.isin(self._site_of_object, list(sites))[np.maximum(number, 0)]
        parted = self._resident(own, self._progress) + self._resident(~own, self._progress)
        most = self._moments[np.argmax((self._together - parted)[self._moments])]
        bytes_ = ((float(one.max()), float(one[most])) for one in (self._together, parted))
        return Apart(tuple(sites), int(self._events[most]), *chain.from_iterable(bytes_))

    def _resident(
        self, mine: NDArray[np.bool_], progress: Callable[[int], None] = lambda _: None
    ) -> NDArray[np.float64]:
        """Return the resident bytes of a heap with only some of the events, at each moment."""
        trace = self._trace
        columns: dict[str, Any] = {name: values[mine] for name, values in trace.columns.items()}
        part = Trace.from_events(
            trace.op[mine],
            trace.object[mine],
            trace.size[mine],
            name=trace.name,
            provenance=trace.provenance,
            **columns,
        )
        setting = Setting.of(part, self._policy, resident=True)
        counts, place = np.unique(np.cumsum(mine)[self._events], return_inverse=True)
        found: NDArray[np.float64] = (
            Watched(setting).resident_after(counts, progress)[place] / setting.scale
        )
        return found
