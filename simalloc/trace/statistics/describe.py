"""Statistics of a trace that do not depend on a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from simalloc.shown import ShownAsTable
from simalloc.trace.events import Op
from simalloc.trace.source import EventSource
from simalloc.trace.statistics.behaviour import (
    LeftCounts,
    NeverFreed,
    ReallocCounts,
    Reallocs,
)
from simalloc.trace.statistics.life_reader import PART_EVENTS, LifeEvents, LifeReader
from simalloc.trace.statistics.lifetimes import (
    Lifetimes,
    Neighbours,
    NeighbourWaits,
    lifetimes_of,
)
from simalloc.trace.statistics.liveness import Curve, LiveCurve, Peak, Peaks
from simalloc.trace.statistics.object_sizes import SizeClass, SizeClasses, SizeCounts, Sizes
from simalloc.trace.statistics.quantiles import passes
from simalloc.trace.statistics.threads import Thread, ThreadCounts


@dataclass(frozen=True)
class Counts:
    """Counts over the whole trace."""

    events: int
    mallocs: int
    """Mallocs and callocs."""
    frees: int
    reallocs: int
    objects: int
    """Allocated objects, where a realloc keeps its object."""
    lives: int
    """Allocated objects as Johnstone and Wilson count them: a realloc ends a life and begins
    another.
    """
    bytes: int
    """Bytes requested by mallocs and reallocs."""
    average_size: float
    """Mean bytes per life, or 0 for a trace without objects."""


@dataclass(frozen=True)
class Statistics(ShownAsTable):
    """The statistics of a trace: tables 1, 2, 5, 6 and 7 of Johnstone and Wilson 1998, and more.

    Bytes are requested bytes. In all statistics that depend on reallocs, a realloc makes a new
    object.
    """

    name: str
    added: int
    """Bytes added to every size for `classes` only."""
    counts: Counts
    peak_bytes: Peak
    peak_objects: Peak
    lifetimes: Lifetimes
    neighbours: Neighbours
    sizes: Sizes
    classes: tuple[SizeClass, ...]
    reallocs: Reallocs
    never_freed: NeverFreed
    threads: tuple[Thread, ...]
    live: LiveCurve


def describe(
    source: EventSource,
    *,
    added: int = 0,
    progress: Callable[[float], None] = lambda _: None,
    part_events: int = PART_EVENTS,
) -> Statistics:
    """Return a trace's statistics.

    The size classes are computed with `added` bytes more per object. A trace file is read once, in
    memory proportional to its live objects, and again for the quantiles (quantiles.py). At most
    `part_events` events are processed together. `progress` is called with the fraction of the work
    done since the last call. Raises `ValueError` if `added` is negative.
    """
    if added < 0:
        raise ValueError(f"added is {added}; use 0 or more bytes")
    waits = NeighbourWaits(source.allocated_bytes)
    work = len(source) * passes(source.allocated_bytes)
    survey = _Survey(source, added, part_events)
    for events in survey:
        waits.add(events.completed)
        progress(len(events) / max(work, 1))
    waits.narrow()
    while waits.found is None:
        for events in LifeReader(source, part_events=part_events):
            waits.add(events.completed)
            progress(len(events) / work)
        waits.narrow()
    return survey.statistics(waits.found)


class _Survey:
    """Computes the statistics that need one pass over a trace."""

    def __init__(self, source: EventSource, added: int, part_events: int) -> None:
        self._source = source
        self._added = added
        self._part_events = part_events
        self._ops = np.zeros(len(Op), np.int64)
        self._peaks = Peaks()
        self._curve = Curve(len(source))
        self._sizes = SizeCounts()
        self._classes = SizeClasses(added)
        self._reallocs = ReallocCounts()
        self._left = LeftCounts()
        self._threads = ThreadCounts()

    def __iter__(self) -> Iterator[LifeEvents]:
        reader = LifeReader(self._source, "thread", self._part_events)
        for events in reader:
            self._ops += np.bincount(events.op, minlength=len(Op))
            for part in (
                self._peaks, self._curve, self._sizes, self._classes, self._reallocs, self._left,
                self._threads,
            ):  # fmt: skip
                part.add(events)
            yield events
        self._counts = self._count()
        self._lifetimes = lifetimes_of(reader, self._counts.lives, self._counts.bytes)
        self._reallocated = self._reallocs.reallocs(reader)

    def statistics(self, neighbours: Neighbours) -> Statistics:
        """Return all statistics after the pass over the trace."""
        counts = self._counts
        return Statistics(
            name=self._source.name,
            added=self._added,
            counts=counts,
            peak_bytes=self._peaks.bytes,
            peak_objects=self._peaks.objects,
            lifetimes=self._lifetimes,
            neighbours=neighbours,
            sizes=self._sizes.sizes(),
            classes=self._classes.classes(),
            reallocs=self._reallocated,
            never_freed=self._left.never_freed(counts.lives, counts.bytes),
            threads=self._threads.threads(),
            live=self._curve.curve(),
        )

    def _count(self) -> Counts:
        mallocs = int(self._ops[Op.MALLOC] + self._ops[Op.CALLOC])
        frees, reallocs = int(self._ops[Op.FREE]), int(self._ops[Op.REALLOC])
        lives, allocated = mallocs + reallocs, self._classes.allocated
        return Counts(
            events=int(self._ops.sum()),
            mallocs=mallocs,
            frees=frees,
            reallocs=reallocs,
            objects=mallocs,
            lives=lives,
            bytes=allocated,
            average_size=allocated / lives if lives else 0.0,
        )
