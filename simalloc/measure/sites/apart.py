"""What the heap would be if some sites' objects had a region of their own."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from simalloc.heap.setting import Setting
from simalloc.heap.sight import Watched
from simalloc.measure.sites.holding import moments_of
from simalloc.shown import ShownAsTable
from simalloc.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    from simalloc.policy import AnyPolicy


@dataclass(frozen=True)
class Apart(ShownAsTable):
    """The heap with everything together, and with some objects in a region of their own; bytes.

    At the peaks of both, and after the `event` when most is saved, of `holding.MOMENTS`.
    """

    sites: tuple[int, ...]
    event: int
    peak_resident_bytes: float
    then_resident_bytes: float
    peak_apart_bytes: float
    then_apart_bytes: float

    @property
    def counts_then(self) -> bool:
        """Whether more is saved then than at the peak."""
        at_peak = self.peak_resident_bytes - self.peak_apart_bytes
        return self.then_resident_bytes - self.then_apart_bytes >= at_peak

    @property
    def together_bytes(self) -> float:
        """What is resident with everything together, when more is saved."""
        return self.then_resident_bytes if self.counts_then else self.peak_resident_bytes

    @property
    def apart_bytes(self) -> float:
        """What is resident then with these objects elsewhere."""
        return self.then_apart_bytes if self.counts_then else self.peak_apart_bytes

    @property
    def saved(self) -> float:
        """What is resident less."""
        return self.together_bytes - self.apart_bytes


class Parting:
    """A trace under a policy, replayed whole once, and then in two heaps as often as is asked.

    `progress` is called with the number of events done since its last call; a replay of the whole
    and one of two heaps take as many as the trace has. Raises as `simulate` does.
    """

    def __init__(
        self,
        trace: Trace,
        policy: AnyPolicy,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        assert trace.site is not None, "the trace says where its calls are"
        self._trace, self._policy, self._progress = trace, policy, progress
        self._moments = moments_of(trace)
        self._together = self._resident(np.ones(len(trace), bool))
        first = np.full(trace.objects, -1, np.int64)
        of_object = np.flatnonzero(trace.object >= 0)[::-1]
        first[trace.object[of_object]] = of_object  # of several events the earliest stays
        self._site_of_object = trace.site[first]

    def apart(self, sites: Collection[int]) -> Apart:
        """Replay with the objects whose first allocation is at one of these sites elsewhere."""
        number = self._trace.object
        own = (number >= 0) & np.isin(self._site_of_object, list(sites))[np.maximum(number, 0)]
        parted = self._resident(own) + self._resident(~own)
        event = max(self._moments, key=lambda each: self._together[each] - parted[each])
        bytes_ = ((float(one.max()), float(one[event])) for one in (self._together, parted))
        return Apart(tuple(sites), event, *chain.from_iterable(bytes_))

    def _resident(self, mine: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the resident bytes after each event of a heap that has only some of them."""
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
        setting = Setting.of(part, self._policy, None, None, resident=True)
        after = [np.zeros(1, np.int64)]
        for sight in Watched(setting).sights():
            after.append(sight.resident)
            self._progress(len(sight.resident))
        found: NDArray[np.float64] = (np.concatenate(after) / setting.scale)[np.cumsum(mine)]
        return found
