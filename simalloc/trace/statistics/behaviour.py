"""A program's behaviour besides malloc and free: reallocs, and objects never freed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.statistics.life_reader import LifeEvents, LifeReader


@dataclass(frozen=True)
class Reallocs:
    """Statistics of reallocations."""

    events: int
    grew: int
    shrank: int
    unchanged: int
    objects: int
    """Objects with at least one realloc."""
    most: int
    """Maximum number of reallocs of one object."""
    kept_bytes: int
    """Bytes that all reallocs copy if every realloc moves its object."""


@dataclass(frozen=True)
class NeverFreed:
    """Objects that are still live at the end of the trace."""

    objects: int
    bytes: int
    share_of_objects: float
    """Fraction of all objects, with reallocs counted as new objects, or 0 for a trace without
    objects.
    """
    share_of_bytes: float
    """Fraction of all allocated bytes, or 0 for a trace without allocations."""


class ReallocCounts:
    """Counter of the reallocs of objects."""

    def __init__(self) -> None:
        self._grew = 0
        self._shrank = 0
        self._unchanged = 0
        self._kept_bytes = 0

    def add(self, events: LifeEvents) -> None:
        """Count the reallocs among the next events."""
        if events.last:
            return
        of_realloc = events.op[events.ended.died - events.first] == Op.REALLOC
        old, new = events.ended.size[of_realloc], events.size[events.op == Op.REALLOC]
        self._grew += int(np.count_nonzero(new > old))
        self._shrank += int(np.count_nonzero(new < old))
        self._unchanged += int(np.count_nonzero(new == old))
        self._kept_bytes += int(np.minimum(old, new).sum())

    def reallocs(self, reader: LifeReader) -> Reallocs:
        """Return the counts of the whole trace."""
        return Reallocs(
            events=self._grew + self._shrank + self._unchanged,
            grew=self._grew,
            shrank=self._shrank,
            unchanged=self._unchanged,
            objects=reader.reallocated,
            most=reader.max_reallocs,
            kept_bytes=self._kept_bytes,
        )


class LeftCounts:
    """Counter of the objects that are still live at the end of the trace."""

    def __init__(self) -> None:
        self._objects = 0
        self._bytes = 0

    def add(self, events: LifeEvents) -> None:
        """Count the objects that end after all events."""
        if events.last:
            self._objects += len(events.ended.size)
            self._bytes += int(events.ended.size.sum())

    def never_freed(self, objects: int, allocated: int) -> NeverFreed:
        """Return the counts, and their fractions of all objects and bytes."""
        return NeverFreed(
            objects=self._objects,
            bytes=self._bytes,
            share_of_objects=self._objects / objects if objects else 0.0,
            share_of_bytes=self._bytes / allocated if allocated else 0.0,
        )
