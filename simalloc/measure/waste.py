"""Where the bytes of a heap go: what is live, and what each kind of waste takes."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.heap import CACHED, FREE, MAPPED_FROM, TABLE, WASTE, moment
from simalloc.heap.gross import gross_sizes
from simalloc.policy import spell
from simalloc.shown import ShownAsTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from simalloc.heap import Moment, Run
    from simalloc.heap.real import NativeRun
    from simalloc.trace import EventSource

PARTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "live": "live",
        "headers": "headers, alignment",
        "rounding": "rounding",
        "tables": "tables",
        "cached": "cached",
        "free_inside": "free inside",
        "free_at_top": "free at the top",
        "untold": "cannot be told",
    }
)
"""The parts of a heap, by their names in `Waste`, in words."""

_LONGEST_MARK: Final = 32
"""A table of at most so many bytes at the break marks the heap's end; growth begins where it is."""


@dataclass(frozen=True)
class Waste(ShownAsTable):
    """Where the bytes of a heap are after an event. Bytes are the program's; they add up."""

    trace: str
    policy: str
    """The policy's text, or a real allocator's name."""
    event: int | None
    """The event's number, from 0; None for a real allocator."""
    live: float
    """Bytes requested and not freed."""
    headers: float = 0.0
    """What headers, footers, alignment and a minimum size add to requests."""
    rounding: float = 0.0
    """What blocks have beyond that: size classes, remainders not split off, ends of no use."""
    tables: float = 0.0
    """What the allocator keeps for itself."""
    cached: float = 0.0
    """Free to the program, and not merged with its neighbours."""
    free_inside: float = 0.0
    """Free between other blocks, or in a segment of its own."""
    free_at_top: float = 0.0
    """Free at the break, or at the mark by which an allocator knows the end of its heap."""
    untold: float = 0.0
    """All that is not live of a real allocator's heap, which does not tell."""

    @property
    def heap(self) -> float:
        """The bytes of the whole heap."""
        return float(sum(getattr(self, part) for part in PARTS))


def waste(
    source: EventSource,
    run: Run,
    event: int | None = None,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> Waste:
    """Return where the bytes of a run's heap are after an event; without one, at its first peak.

    The trace is replayed up to there; `progress` is called with the number of events done since its
    last call. Raises `SimallocError` if there is no such event, or the run is not the trace's.
    """
    heap = moment(source, run, event, progress=progress)
    taken = heap.object >= 0
    asked, size = heap.requested[taken], heap.size[taken]
    overhead = run.policy.description.applied_overhead
    gross = gross_sizes(asked, overhead, run.scale) / run.scale
    gross = np.clip(gross, asked, size)
    free, at_top = _in_state(heap, FREE), _free_at_top(heap, run.scale)
    return Waste(
        trace=source.name,
        policy=spell(run.policy),
        event=heap.event,
        live=float(asked.sum()),
        headers=float((gross - asked).sum()),
        rounding=float((size - gross).sum()) + _in_state(heap, WASTE),
        tables=_in_state(heap, TABLE),
        cached=_in_state(heap, CACHED),
        free_inside=free - at_top,
        free_at_top=at_top,
    )


def real_waste(run: NativeRun) -> Waste:
    """Return the peak of a real allocator's mapped memory, of which it tells what is live only.

    Live are the most bytes that ever were: when the peak was reached is not known.
    """
    live = float(run.max_live_bytes)
    return Waste(run.trace, run.allocator, None, live, untold=max(0.0, run.peak.mapped - live))


def _in_state(heap: Moment, state: int) -> float:
    return float(heap.size[heap.object == state].sum())


def _free_at_top(heap: Moment, scale: int) -> float:
    """Return the size of the free block that ends at the break, or at a mark there; or 0."""
    below = np.flatnonzero(heap.address < MAPPED_FROM / scale)
    if len(below) and heap.object[below[-1]] == TABLE:
        is_mark = heap.size[below[-1]] * scale <= _LONGEST_MARK
        below = below[:-1] if is_mark else below
    if not len(below) or heap.object[below[-1]] != FREE:
        return 0.0
    return float(heap.size[below[-1]])
