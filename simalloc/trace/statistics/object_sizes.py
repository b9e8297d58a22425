"""The sizes that a program requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import allocates
from simalloc.trace.statistics.life_reader import LifeEvents

COVERAGE: Final = (0.9, 0.99, 0.999, 1.0)
"""Shares of the objects in table 7 of Johnstone and Wilson 1998."""

SMALLEST_CLASS: Final = 16
"""Upper bound of the first size class in bytes, as in table 2 of Johnstone and Wilson 1998."""

_CLASSES: Final = 64
"""Exceeds the number of powers of two up to the largest size."""


@dataclass(frozen=True)
class Sizes:
    """The distinct requested sizes."""

    covering: tuple[int, ...]
    """Number of most common sizes that together cover 90, 99, 99.9 and 100 % of objects
    (`COVERAGE`).
    """
    commonest: tuple[tuple[int, int], ...]
    """The ten most common sizes, each with its number of objects. Of equally common sizes, the
    smaller is first.
    """
    zero: int
    """Number of objects of 0 bytes."""
    largest: int


@dataclass(frozen=True)
class SizeClass:
    """The objects with more than `upto` / 2 and at most `upto` bytes, a power of two.

    The first class contains all objects of at most 16 bytes. Sizes include the `added` bytes.
    """

    upto: int
    objects: int
    bytes: int
    most_live: int
    """Maximum number of simultaneously live objects of the class (table 2)."""
    never_freed: int
    mean_lifetime: float
    """Mean lifetime in allocated bytes."""
    mean_lifetime_objects: float
    """Mean lifetime in allocated objects."""


class GroupSums:
    """Sums of int64 values by group, numbered from 0. The sums are Python integers of any size."""

    def __init__(self, groups: int) -> None:
        self._groups = groups
        self._sums = [0] * groups

    def add(self, group: NDArray[np.integer], values: NDArray[np.int64]) -> None:
        """Add at most 2**31 values, each to the sum of its group."""
        high, low = np.zeros(self._groups, np.int64), np.zeros(self._groups, np.int64)
        np.add.at(high, group, values >> 32)
        np.add.at(low, group, values & 0xFFFFFFFF)
        pairs = zip(high.tolist(), low.tolist(), strict=True)
        self._sums = [
            sum_ + (upper << 32) + lower
            for sum_, (upper, lower) in zip(self._sums, pairs, strict=True)
        ]

    def __getitem__(self, group: int) -> int:
        return self._sums[group]


class SizeCounts:
    """Counter of the objects of each size. It needs 16 bytes per size."""

    def __init__(self) -> None:
        self._size = np.empty(0, np.int64)
        self._objects = np.empty(0, np.int64)

    def add(self, events: LifeEvents) -> None:
        """Count the objects of the next events."""
        size, objects = np.unique(events.size[allocates(events.op)], return_counts=True)
        known = np.searchsorted(self._size, size)
        is_known = np.append(self._size, -1)[known] == size
        self._objects[known[is_known]] += objects[is_known]
        if not is_known.all():
            self._size = np.insert(self._size, known[~is_known], size[~is_known])
            self._objects = np.insert(self._objects, known[~is_known], objects[~is_known])

    def reaching(self, shares: Sequence[float]) -> tuple[int, ...]:
        """Return for each share the smallest size that this share of objects does not exceed."""
        if not len(self._size):
            return ()
        reached = np.cumsum(self._objects)
        place = np.searchsorted(reached, np.array(shares) * reached[-1])
        return tuple(self._size[place].tolist())

    def sizes(self) -> Sizes:
        """Return the requested sizes and their counts."""
        size, objects = self._size, self._objects
        order = np.argsort(-objects, kind="stable")
        reached = np.append(0, np.cumsum(objects[order]))
        ten = order[:10]
        return Sizes(
            covering=tuple(np.searchsorted(reached, np.array(COVERAGE) * reached[-1]).tolist()),
            commonest=tuple(zip(size[ten].tolist(), objects[ten].tolist(), strict=True)),
            zero=int(objects[0]) if len(size) and size[0] == 0 else 0,
            largest=int(size[-1]) if len(size) else 0,
        )


class SizeClasses:
    """Totals of the objects of each size class.

    `added` bytes are added to every size before it is rounded up to a power of two. Table 2 of
    Johnstone and Wilson 1998 adds 8 bytes, probably for a header.
    """

    def __init__(self, added: int = 0) -> None:
        self._added = added
        self._live = np.zeros(_CLASSES, np.int64)
        self._max_live = np.zeros(_CLASSES, np.int64)
        self._objects = np.zeros(_CLASSES, np.int64)
        self._never_freed = np.zeros(_CLASSES, np.int64)
        self._bytes, self._lifetimes, self._lengths = (GroupSums(_CLASSES) for _ in range(3))

    def add(self, events: LifeEvents) -> None:
        """Add the lives that end in the next events, and the live bytes after each event."""
        ended = events.ended
        kind = _exponents(ended.size + self._added)
        self._objects += np.bincount(kind, minlength=_CLASSES)
        self._bytes.add(kind, ended.size)
        self._lifetimes.add(kind, ended.lifetime)
        self._lengths.add(kind, ended.length)
        if events.last:
            self._never_freed += np.bincount(kind, minlength=_CLASSES)
        else:
            self._count_live(events, kind)

    @property
    def allocated(self) -> int:
        """Bytes of all lives that have ended."""
        return sum(self._bytes[kind] for kind in range(_CLASSES))

    def classes(self) -> tuple[SizeClass, ...]:
        """Return the size classes with objects, the smallest first."""
        return tuple(self._class(int(kind)) for kind in np.flatnonzero(self._objects))

    def _class(self, kind: int) -> SizeClass:
        objects = int(self._objects[kind])
        return SizeClass(
            upto=1 << kind,
            objects=objects,
            bytes=self._bytes[kind],
            most_live=int(self._max_live[kind]),
            never_freed=int(self._never_freed[kind]),
            mean_lifetime=self._lifetimes[kind] / objects,
            mean_lifetime_objects=self._lengths[kind] / objects,
        )

    def _count_live(self, events: LifeEvents, kind_of_dead: NDArray[np.int8]) -> None:
        """Track the live objects of each class. At one event, the death precedes the birth."""
        born = np.flatnonzero(allocates(events.op))
        kind = np.full((len(events), 2), -1, np.int8)
        kind[events.ended.died - events.first, 0] = kind_of_dead
        kind[born, 1] = _exponents(events.size[born] + self._added)
        change = np.broadcast_to(np.array([-1, 1]), kind.shape)[kind >= 0]
        kind = kind[kind >= 0]
        order = np.argsort(kind, kind="stable")
        kind, change = kind[order], np.cumsum(change[order])
        starts = np.flatnonzero(np.diff(kind, prepend=-1))
        kinds, ends = kind[starts], np.append(starts[1:], len(kind)) - 1
        if not len(kinds):
            return
        before = self._live[kinds] - np.append(0, change[ends[:-1]])
        most = before + np.maximum.reduceat(change, starts)
        self._max_live[kinds] = np.maximum(self._max_live[kinds], most)
        self._live[kinds] = before + change[ends]


def _exponents(size: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the exponents of the sizes rounded up to powers of two, at least `SMALLEST_CLASS`.

    The exponent from frexp is the bit length. The bit length is exact, because sizes are far below
    2**53.
    """
    _, bits = np.frexp((np.maximum(size, SMALLEST_CLASS) - 1).astype(np.float64))
    return bits.astype(np.int8)
