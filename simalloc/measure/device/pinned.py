"""What keeps segments that are half empty from going back to the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.trace.lives import lives_of
from simalloc.trace.sites import site_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.heap.device_figures import DeviceReplay
    from simalloc.measure.device.segments import Segments
    from simalloc.trace import Trace

MOST: Final = 12
_SMALL: Final = 1 << 20
"""Larger requests lie in ranges of their own."""
_SMALL_PAGE: Final = 2 << 20


@dataclass(frozen=True)
class HalfEmpty:
    """A segment, or a page of expandable segments, of which no more than half is requested."""

    shown: int
    """Where it lies in the map."""
    size: int
    requested: int
    objects: int
    """How many live in it."""
    last: int
    """The object that stays longest: as long as it does, the segment cannot go back."""
    last_requested: int
    last_since: int
    last_until: int | None
    """The event that frees it, None if none does."""
    place: str | None
    """Where in the program it was asked for, if the trace tells."""

    @property
    def free(self) -> int:
        """Bytes that nobody asked for."""
        return self.size - self.requested


@dataclass(frozen=True)
class Pinned:
    """The segments after the event at which most memory was first taken."""

    event: int
    reserved: int
    requested: int
    segments: int
    empty: int
    """Segments in which nothing lives, which go back before memory is out."""
    empty_bytes: int
    half_empty: int
    half_empty_free: int
    """Bytes of half-empty segments that nobody asked for."""
    worst: tuple[HalfEmpty, ...]
    """The half-empty ones with most free bytes, the worst first."""


def pinned(
    trace: Trace,
    replay: DeviceReplay,
    segments: Segments,
    memory: NDArray[np.int64],
    *,
    page: int | None,
) -> Pinned:
    """Return what pins the memory of a replay, which `memory` and `segments` are of, at its peak.

    Of expandable segments, whose large pages have `page` bytes, each page is looked at.
    """
    if not len(replay.heap):
        return Pinned(0, 0, 0, 0, 0, 0, 0, 0, ())
    event = int(replay.heap.argmax())
    lives = lives_of(trace)
    alive = np.flatnonzero((lives.born <= event) & (event < lives.died))
    alive = alive[replay.addresses[lives.born[alive]] >= 0]  # but the request not served
    address, size = replay.addresses[lives.born[alive]], lives.size[alive]
    there = memory[(memory[:, 2] <= event) & (event < memory[:, 3])]
    units = there[:, :2] if page is None else _pages(there, segments, address, size, page)
    order = np.argsort(address, kind="stable")
    address, size, alive = address[order], size[order], alive[order]
    low, high = units[:, 0], units.sum(axis=1)
    first = np.searchsorted(address + size, low, side="right")
    end = np.searchsorted(address, high)
    asked = _covered(address, size, high) - _covered(address, size, low)
    objects = end - first
    free = units[:, 1] - asked
    half = np.flatnonzero((objects > 0) & (2 * free >= units[:, 1]))
    empty = objects == 0

    def described(unit: np.int64) -> HalfEmpty:
        inside = alive[first[unit] : end[unit]]
        last = inside[np.argmax(lives.died[inside])]
        born, died = int(lives.born[last]), int(lives.died[last])
        site = None if trace.site is None else int(trace.site[born])
        return HalfEmpty(
            shown=int(segments.moved(units[unit, :1])[0]),
            size=int(units[unit, 1]),
            requested=int(asked[unit]),
            objects=int(objects[unit]),
            last=int(trace.object[born]),
            last_requested=int(lives.size[last]),
            last_since=born,
            last_until=died if died < len(trace) else None,
            place=None if not site else site_name(trace.provenance, site),
        )

    worst = half[np.argsort(-free[half], kind="stable")][:MOST]
    return Pinned(
        event=event,
        reserved=int(replay.heap[event]),
        requested=int(replay.live[event]),
        segments=len(units),
        empty=int(empty.sum()),
        empty_bytes=int(units[empty, 1].sum()),
        half_empty=len(half),
        half_empty_free=int(free[half].sum()),
        worst=tuple(map(described, worst)),
    )


def _covered(
    address: NDArray[np.int64], size: NDArray[np.int64], edges: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the bytes of objects, by address, that lie below each edge."""
    if not len(address):
        return np.zeros(len(edges), np.int64)
    before = np.concatenate(([0], np.cumsum(size)))
    last = np.searchsorted(address, edges) - 1
    cut = np.maximum(address[last] + size[last] - edges, 0)
    covered: NDArray[np.int64] = np.where(last < 0, 0, before[last + 1] - cut)
    return covered


def _pages(
    there: NDArray[np.int64],
    segments: Segments,
    address: NDArray[np.int64],
    size: NDArray[np.int64],
    page: int,
) -> NDArray[np.int64]:
    """Return address and size of each mapped page; ranges of small requests have small pages."""
    largest = np.zeros(len(segments), np.int64)
    np.maximum.at(largest, segments.of(address), size)
    pages = []
    for start, length in there[:, :2].tolist():
        inside = int(segments.of(np.array([start]))[0])
        step = page if largest[inside] > _SMALL else _SMALL_PAGE
        pages += [(at, min(step, start + length - at)) for at in range(start, start + length, step)]
    return np.array(pages, np.int64).reshape(-1, 2)
