"""Objects that keep half-empty segments from returning to the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.heap.watch.device_replay import DeviceReplay
from simalloc.measure.device.segments import Segments
from simalloc.measure.sites.frames import short_name
from simalloc.trace import Trace
from simalloc.trace.lives import lives_of

if TYPE_CHECKING:
    from simalloc.trace.statistics import Lives

MAX_UNITS: Final = 12
_SMALL: Final = 1 << 20
"""Maximum request in bytes in a range of small requests."""
_SMALL_PAGE: Final = 2 << 20


@dataclass(frozen=True)
class HalfEmpty:
    """A segment, or a page of expandable segments, with at most half of its bytes requested."""

    shown: int
    """Position of the segment in the map."""
    size: int
    requested: int
    objects: int
    """Number of live objects in the segment."""
    last: int
    """Number of the object that is freed last and keeps the segment until then."""
    last_requested: int
    last_since: int
    last_until: int | None
    """Event that frees the object, or None if it is never freed."""
    place: str | None
    """Call site of the request, or None if the trace has no call sites."""

    @property
    def free(self) -> int:
        """Bytes that no object requested."""
        return self.size - self.requested


@dataclass(frozen=True)
class Pinned:
    """The segments after the first event with the peak of reserved memory."""

    event: int
    reserved: int
    requested: int
    segments: int
    empty: int
    """Segments without a live object, which are returned before memory is exhausted."""
    empty_bytes: int
    half_empty: int
    half_empty_free: int
    """Bytes of half-empty segments that no object requested."""
    worst: tuple[HalfEmpty, ...]
    """The half-empty segments with the most free bytes, the worst first."""


def pinned(
    trace: Trace,
    replay: DeviceReplay,
    segments: Segments,
    memory: NDArray[np.int64],
    *,
    page: int | None,
) -> Pinned:
    """Return the objects that pin the memory of a replay at its peak.

    `memory` and `segments` belong to the replay. With expandable segments, each page is examined;
    large pages have `page` bytes.
    """
    if not len(replay.heap):
        return Pinned(0, 0, 0, 0, 0, 0, 0, 0, ())
    event = int(replay.heap.argmax())
    lives = lives_of(trace)
    live = _live_at(event, lives, replay)
    there = memory[(memory[:, 2] <= event) & (event < memory[:, 3]), :2]
    units = _Units.of(there if page is None else _pages(there, segments, live, page), live)
    empty, half = units.objects == 0, units.half_empty
    worst = half[np.argsort(-units.free[half], kind="stable")][:MAX_UNITS]
    return Pinned(
        event=event,
        reserved=int(replay.heap[event]),
        requested=int(replay.live[event]),
        segments=len(units.size),
        empty=int(empty.sum()),
        empty_bytes=int(units.size[empty].sum()),
        half_empty=len(half),
        half_empty_free=int(units.free[half].sum()),
        worst=tuple(_half_empty(unit, units, live, lives, trace, segments) for unit in worst),
    )


class _Live(NamedTuple):
    """The live objects by address; each array has one entry per object."""

    address: NDArray[np.int64]
    size: NDArray[np.int64]
    life: NDArray[np.int64]
    """Index of the life in the trace."""


def _live_at(event: int, lives: Lives, replay: DeviceReplay) -> _Live:
    """Return the live objects after an event, without refused requests."""
    life = np.flatnonzero((lives.born <= event) & (event < lives.died))
    address = replay.addresses[lives.born[life]]
    order = np.argsort(address, kind="stable")
    order = order[address[order] >= 0]
    return _Live(address[order], lives.size[life[order]], life[order])


@dataclass(frozen=True, eq=False)
class _Units:
    """Segments, or pages of segments, and the live objects in each; one entry per unit.

    An object that extends over several units is counted in each of them.
    """

    address: NDArray[np.int64]
    size: NDArray[np.int64]
    first: NDArray[np.int64]
    """Index of the lowest live object in the unit."""
    end: NDArray[np.int64]
    """One more than the index of the highest live object in the unit."""
    free: NDArray[np.int64]
    """Bytes that no object requested."""

    @classmethod
    def of(cls, units: NDArray[np.int64], live: _Live) -> _Units:
        """Return units, (n, 2) of address and size, with their live objects."""
        low, size = units.T
        high = low + size
        return cls(
            address=low,
            size=size,
            first=np.searchsorted(live.address + live.size, low, side="right"),
            end=np.searchsorted(live.address, high),
            free=size - (_covered(live, high) - _covered(live, low)),
        )

    @property
    def objects(self) -> NDArray[np.int64]:
        """Number of live objects in each unit."""
        return self.end - self.first

    @property
    def half_empty(self) -> NDArray[np.int64]:
        """Indices of the units with live objects and at least half of their bytes free."""
        return np.flatnonzero((self.objects > 0) & (2 * self.free >= self.size))


def _half_empty(
    unit: np.int64, units: _Units, live: _Live, lives: Lives, trace: Trace, segments: Segments
) -> HalfEmpty:
    inside = live.life[units.first[unit] : units.end[unit]]
    last = inside[np.argmax(lives.died[inside])]
    born, died = int(lives.born[last]), int(lives.died[last])
    site = None if trace.site is None else int(trace.site[born])
    return HalfEmpty(
        shown=int(segments.moved(units.address[[unit]])[0]),
        size=int(units.size[unit]),
        requested=int(units.size[unit] - units.free[unit]),
        objects=len(inside),
        last=int(trace.object[born]),
        last_requested=int(lives.size[last]),
        last_since=born,
        last_until=died if died < len(trace) else None,
        place=None if not site else short_name(trace.provenance, site),
    )


def _covered(live: _Live, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the total bytes of objects below each edge."""
    if not len(live.address):
        return np.zeros(len(edges), np.int64)
    before = np.concatenate(([0], np.cumsum(live.size)))
    last = np.searchsorted(live.address, edges) - 1
    cut = np.maximum(live.address[last] + live.size[last] - edges, 0)
    covered: NDArray[np.int64] = np.where(last < 0, 0, before[last + 1] - cut)
    return covered


def _pages(
    there: NDArray[np.int64], segments: Segments, live: _Live, page: int
) -> NDArray[np.int64]:
    """Return the address and size of each page of mapped memory.

    Ranges of small requests have small pages.
    """
    largest = np.zeros(len(segments), np.int64)
    np.maximum.at(largest, segments.of(live.address), live.size)
    pages = []
    for start, length in there.tolist():
        inside = int(segments.of(np.array([start]))[0])
        step = page if largest[inside] > _SMALL else _SMALL_PAGE
        pages += [(at, min(step, start + length - at)) for at in range(start, start + length, step)]
    return np.array(pages, np.int64).reshape(-1, 2)
