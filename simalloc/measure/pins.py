"""What pins the heap: live objects without which free memory would lie together, or could go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.heap import FREE, MAPPED_FROM, moment
from simalloc.shown import ShownAsTable
from simalloc.trace.sites import site_name
from simalloc.trace.source import entries_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from simalloc.heap import Run
    from simalloc.trace import EventSource

MOST: Final = 10


@dataclass(frozen=True)
class Pin:
    """One live object. Bytes are the program's."""

    object: int
    """Its number, in the order of allocation."""
    address: float
    requested: int
    """Bytes asked for."""
    since: int
    """The event that put it there or gave it its size."""
    age: int
    """Events since then."""
    site: int | None
    """The number of the place in the program where that was, if the trace has it."""
    place: str | None
    """That place in words, as far as the trace has a name for it."""
    free_below: float
    """Bytes free right below it."""
    free_above: float
    """Bytes free right above it."""

    @property
    def holds(self) -> float:
        """The free bytes that this object keeps from their neighbours."""
        return self.free_below + self.free_above


@dataclass(frozen=True)
class Pins(ShownAsTable):
    """What pins the heap after an event; both lists have the worst first."""

    event: int
    heap_bytes: float
    live_bytes: int
    free_bytes: float
    highest: tuple[Pin, ...]
    """The objects at the highest addresses: while one of them lives, the heap reaches up to it."""
    alone: tuple[Pin, ...]
    """The objects with the most free memory right below and above them."""
    mapped_bytes: float = 0.0
    """Bytes of the heap that are mapped apart from the break: what lives there pins nothing."""


def pins(
    source: EventSource,
    run: Run,
    event: int | None = None,
    *,
    most: int = MOST,
    progress: Callable[[int], None] = lambda _: None,
) -> Pins:
    """Return what pins the heap of a run after an event; without one, when it first has its peak.

    They are at most `most`. `progress` is called with the number of events done since its last
    call. Raises `SimallocError` if the run is not the trace's or there is no such event, and
    `ValueError` if `most` is negative.
    """
    if most < 0:
        raise ValueError(f"most is {most}; it takes 0 or more")
    heap = moment(source, run, event, progress=progress)
    free = np.where(heap.object == FREE, heap.size, 0.0)
    below = np.concatenate(([0.0], free))[:-1]
    above = np.concatenate((free, [0.0]))[1:]
    apart = heap.address >= MAPPED_FROM / run.scale
    live = np.flatnonzero((heap.object >= 0) & ~apart)
    alone = live[np.argsort(-(below + above)[live], kind="stable")][:most]
    highest = live[::-1][:most]
    sites = _sites(source, heap.since[np.concatenate((alone, highest))])

    def pin(at: np.int64) -> Pin:
        since = int(heap.since[at])
        site = sites.get(since)
        return Pin(
            object=int(heap.object[at]),
            address=float(heap.address[at]),
            requested=int(heap.requested[at]),
            since=since,
            age=heap.event - since,
            site=site,
            place=None if site is None else site_name(source.provenance, site),
            free_below=float(below[at]),
            free_above=float(above[at]),
        )

    return Pins(
        event=heap.event,
        heap_bytes=heap.heap_bytes,
        live_bytes=int(heap.requested.sum()),
        free_bytes=float(free.sum()),
        highest=tuple(map(pin, highest)),
        alone=tuple(map(pin, alone)),
        mapped_bytes=float(heap.size[apart & (heap.object >= 0)].sum()),
    )


def _sites(source: EventSource, events: NDArray[np.int64]) -> dict[int, int]:
    """Return the sites of some events, if the trace has them."""
    sites = entries_at(source, "site", events)
    return {} if sites is None else dict(zip(events.tolist(), sites.tolist(), strict=True))
