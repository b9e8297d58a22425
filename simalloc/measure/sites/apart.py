"""What the heap would be if some sites' objects had a region of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simalloc.heap.setting import Setting
from simalloc.heap.sight import Watched
from simalloc.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from simalloc.policy import AnyPolicy


@dataclass(frozen=True)
class Apart:
    """The heap with everything together, and with some objects in a region of their own; bytes."""

    sites: tuple[int, ...]
    peak_resident_bytes: float
    final_resident_bytes: float
    peak_apart_bytes: float
    final_apart_bytes: float

    @property
    def saved(self) -> float:
        """What is resident less at the end, or at the peak if that is more."""
        at_end = self.final_resident_bytes - self.final_apart_bytes
        return max(at_end, self.peak_resident_bytes - self.peak_apart_bytes)


def apart(trace: Trace, policy: AnyPolicy, sites: Collection[int]) -> Apart:
    """Replay a trace with the objects that some sites allocate in a heap of their own.

    Both heaps are of the same policy. Raises as `simulate` does.
    """
    assert trace.site is not None, "the trace says where its calls are"
    own = _of_sites(trace, sites)
    together = _resident(trace, policy, np.ones(len(trace), bool))
    parted = _resident(trace, policy, own) + _resident(trace, policy, ~own)
    return Apart(
        tuple(sites),
        *(float(each) for each in (together.max(initial=0), together[-1] if len(trace) else 0)),
        *(float(each) for each in (parted.max(initial=0), parted[-1] if len(trace) else 0)),
    )


def _of_sites(trace: Trace, sites: Collection[int]) -> NDArray[np.bool_]:
    """Return which events are on objects whose first allocation is at one of these sites."""
    assert trace.site is not None, "the trace says where its calls are"
    first = np.full(trace.objects, -1, np.int64)
    of_object = np.flatnonzero(trace.object >= 0)[::-1]
    first[trace.object[of_object]] = of_object  # of several events the earliest stays
    chosen = np.isin(trace.site[first], list(sites))
    found: NDArray[np.bool_] = (trace.object >= 0) & chosen[np.maximum(trace.object, 0)]
    return found


def _resident(trace: Trace, policy: AnyPolicy, mine: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the resident bytes after each event of a heap that has only some of them."""
    columns: dict[str, Any] = {name: values[mine] for name, values in trace.columns.items()}
    part = Trace.from_events(
        trace.op[mine], trace.object[mine], trace.size[mine], name=trace.name, **columns
    )
    setting = Setting.of(part, policy, None, None, resident=True)
    parts = [sight.resident for sight in Watched(setting).sights()]
    after = np.concatenate([np.zeros(1, np.int64), *parts]) / setting.scale
    found: NDArray[np.float64] = after[np.cumsum(mine)]
    return found
