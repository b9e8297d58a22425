"""Pins of the heap: live objects that separate free blocks, or keep the heap high."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from math import inf
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import FREE, MAPPED_FROM, HeapReplay, HeapSnapshot, Run, event_or_peak
from simalloc.measure.sites.frames import short_name
from simalloc.measure.watch import watch
from simalloc.shown import ShownAsTable
from simalloc.trace import EventSource
from simalloc.trace.source import entries_at

MAX_PINS: Final = 10


@dataclass(frozen=True)
class Pin:
    """One live object that pins the heap; bytes are bytes of the program."""

    object: int
    """Number of the object, in the order of allocation."""
    address: float
    requested: int
    """Requested bytes."""
    since: int
    """Event that placed the object or last changed its size."""
    age: int
    """Number of events since `since`."""
    site: int | None
    """Number of the call site of the event `since`, or None if the trace has no call sites."""
    place: str | None
    """Name of the call site, or None if the trace has no call sites."""
    free_below: float
    """Free bytes directly below the object."""
    free_above: float
    """Free bytes directly above the object."""

    @property
    def holds(self) -> float:
        """Free bytes directly below and above the object."""
        return self.free_below + self.free_above


@dataclass(frozen=True)
class Pins(ShownAsTable):
    """Objects that pin the heap after an event; in both lists, the worst comes first.

    Examples
    --------
    >>> found = simalloc.pins("espresso", "first-fit-ao")
    >>> found.alone[0].address, found.alone[0].requested
    """

    event: int
    heap_bytes: float
    live_bytes: int
    free_bytes: float
    highest: tuple[Pin, ...]
    """Objects at the highest addresses. The heap cannot shrink below an object while it is live."""
    alone: tuple[Pin, ...]
    """Objects with the most free bytes directly below and above them."""


def pins(
    source: EventSource,
    run: Run,
    event: int | None = None,
    *,
    most: int = MAX_PINS,
    apart: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> Pins:
    """Return the objects that pin the heap of a run after an event, by default its first peak.

    `most` is the maximum number of objects in each list. With `apart`, objects in memory that is
    mapped apart from the heap are included. `progress` is called with the number of events done
    since its last call. Raises `SimallocError` if the run is not of the trace or the event does not
    exist, and `ValueError` if `most` is negative.
    """
    if most < 0:
        raise ValueError(f"most is {most}; use 0 or more")
    search = PinSearch(source, run, event, most=most, apart=apart)
    watch(source, run, observers=[search], progress=progress)
    return search.pins()


class PinSearch:
    """An observer that finds the objects that pin a heap; `pins` documents the arguments.

    With `apart`, the objects may be anywhere, including arenas that are mapped apart from the heap.
    """

    def __init__(
        self,
        source: EventSource,
        run: Run,
        event: int | None = None,
        *,
        most: int = MAX_PINS,
        apart: bool = False,
    ) -> None:
        self._source = source
        self._max = most
        self._highest = self._alone = _Held.none()
        self._mapped_from = inf if apart else MAPPED_FROM / run.scale
        self._heap_bytes = self._free_bytes = 0.0
        self._live_bytes = 0
        self.events = (event_or_peak(source, run, event),)

    def look(self, heap: HeapReplay) -> None:
        """Find the objects that pin the heap."""
        for part, held in _held(heap.parts(), self._mapped_from):
            self._heap_bytes += part.heap_bytes
            self._free_bytes += float(part.size[part.object == FREE].sum())
            self._live_bytes += int(part.requested.sum())
            from_top = held.taken(slice(None, None, -1))
            self._highest = from_top.joined(self._highest).taken(slice(self._max))
            alone = self._alone.joined(held)
            worst_first = np.argsort(-(alone.below + alone.above), kind="stable")
            self._alone = alone.taken(worst_first[: self._max])

    def pins(self) -> Pins:
        """Return the pins. The source provides their sites."""
        held = (self._highest, self._alone)
        sites = _sites(self._source, np.concatenate([one.since for one in held]))
        highest, alone = (tuple(self._pins(one, sites)) for one in held)
        return Pins(
            event=self.events[0],
            heap_bytes=self._heap_bytes,
            live_bytes=self._live_bytes,
            free_bytes=self._free_bytes,
            highest=highest,
            alone=alone,
        )

    def _pins(self, held: _Held, sites: dict[int, int]) -> Iterator[Pin]:
        for number, address, requested, since, below, above in zip(*held, strict=True):
            site = sites.get(int(since))
            yield Pin(
                object=int(number),
                address=float(address),
                requested=int(requested),
                since=int(since),
                age=self.events[0] - int(since),
                site=site,
                place=None if site is None else short_name(self._source.provenance, site),
                free_below=float(below),
                free_above=float(above),
            )


class _Held(NamedTuple):
    """Live objects, and the free bytes directly below and above each."""

    object: NDArray[Any]
    address: NDArray[Any]
    requested: NDArray[Any]
    since: NDArray[Any]
    below: NDArray[Any]
    above: NDArray[Any]

    @classmethod
    def none(cls) -> _Held:
        """Return no objects."""
        number, amount = np.empty(0, np.int64), np.empty(0)
        return cls(number, amount, number, number, amount, amount)

    def taken(self, places: slice | NDArray[np.int64]) -> _Held:
        """Return the objects at some positions."""
        return _Held(*(column[places] for column in self))

    def joined(self, others: _Held) -> _Held:
        """Return these objects followed by others."""
        return _Held(*(np.concatenate(columns) for columns in zip(self, others, strict=True)))


def _held(parts: Iterator[HeapSnapshot], end: float) -> Iterator[tuple[HeapSnapshot, _Held]]:
    """Yield each part of a heap in order of address, with its live objects below `end`."""
    before = 0.0
    for part, following in pairwise(chain(parts, [None])):
        assert part is not None
        free = np.where(part.object == FREE, part.size, 0.0)
        is_free = following is not None and len(following) and following.object[0] == FREE
        after = float(following.size[0]) if following is not None and is_free else 0.0
        below, above = np.append(before, free)[:-1], np.append(free, after)[1:]
        live = np.flatnonzero((part.object >= 0) & (part.address < end))
        columns = (part.object, part.address, part.requested, part.since, below, above)
        yield part, _Held(*(column[live] for column in columns))
        before = float(free[-1]) if len(free) else 0.0


def _sites(source: EventSource, events: NDArray[np.int64]) -> dict[int, int]:
    """Return the sites of some events, or an empty mapping if the trace has no sites."""
    sites = entries_at(source, "site", events)
    return {} if sites is None else dict(zip(events.tolist(), sites.tolist(), strict=True))
