"""Lifetimes of objects, and the waits of dead objects for their temporal neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.lives import Lives
from simalloc.trace.statistics.life_reader import Completed, LifeReader
from simalloc.trace.statistics.quantiles import SHARES, Quantiles


@dataclass(frozen=True)
class Lifetimes:
    """Mean lifetimes in allocated bytes, or 0 for a trace without objects."""

    mean: float
    """Mean over objects, as printed in table 1 of Johnstone and Wilson 1998."""
    weighted: float
    """Mean weighted by size, that is over allocated bytes, as defined in their text."""
    mean_objects: float
    """Mean over objects, in allocated objects instead of bytes."""


@dataclass(frozen=True)
class Neighbours:
    """Bytes allocated from an object's death until both temporal neighbours are free too.

    Each field contains the figures for 90, 99 and 99.9 % (`SHARES`).
    """

    objects: tuple[int, ...]
    """Waits that 90, 99 and 99.9 % of the objects do not exceed (table 5)."""
    bytes: tuple[int, ...]
    """Waits that 90, 99 and 99.9 % of the allocated bytes do not exceed (table 6)."""


def lifetimes_of(reader: LifeReader, objects: int, allocated: int) -> Lifetimes:
    """Return the mean lifetimes of a trace that has been read completely."""
    if not objects:
        return Lifetimes(0.0, 0.0, 0.0)
    lifetimes, weighted, lengths = reader.sums()
    return Lifetimes(
        mean=lifetimes / objects,
        weighted=weighted / allocated if allocated else 0.0,
        mean_objects=lengths / objects,
    )


class NeighbourWaits:
    """Finds the waits until given shares of objects and bytes have both temporal neighbours free.

    Add all waits and then call `narrow`, repeatedly until `found` is set.
    """

    def __init__(self, allocated: int) -> None:
        self._objects = Quantiles(allocated)
        self._bytes = Quantiles(allocated)

    @property
    def found(self) -> Neighbours | None:
        """The neighbours' waits at the given shares, or None before they are known."""
        objects, weighted = self._objects.found, self._bytes.found
        return None if objects is None or weighted is None else Neighbours(objects, weighted)

    def add(self, completed: Completed) -> None:
        """Count some waits."""
        self._objects.add(completed.wait)
        self._bytes.add(completed.wait, completed.size)

    def narrow(self) -> None:
        """Narrow the result after all waits have been added."""
        self._objects.narrow()
        self._bytes.narrow()


def neighbours_of(lives: Lives, *, freed_only: bool = False) -> Neighbours:
    """Return the waits until given shares of objects and bytes have both temporal neighbours free.

    With `freed_only`, objects that are never freed are excluded from the shares but still count as
    neighbours.
    """
    waits = neighbour_waits(lives)
    size = lives.size
    if freed_only:
        waits, size = waits[lives.freed], size[lives.freed]
    order = np.argsort(waits)
    waits = waits[order]
    counted = np.arange(1, len(waits) + 1)
    return Neighbours(_quantiles(waits, counted), _quantiles(waits, np.cumsum(size[order])))


def neighbour_waits(lives: Lives) -> NDArray[np.int64]:
    """Return for each life the bytes allocated from its death until both neighbours are dead.

    The neighbours are the objects allocated just before and just after (Johnstone and Wilson 1998,
    6.3). The first and the last object have only one neighbour. The missing neighbour counts as
    free.
    """
    until = lives.death.copy()
    np.maximum(until[1:], lives.death[:-1], out=until[1:])
    np.maximum(until[:-1], lives.death[1:], out=until[:-1])
    return until - lives.death


def _quantiles(values: NDArray[np.int64], weight_so_far: NDArray[np.int64]) -> tuple[int, ...]:
    """Return for each share the first value at which the running weight reaches the share."""
    if not len(values):
        return (0,) * len(SHARES)
    ranks = np.searchsorted(weight_so_far, np.array(SHARES) * weight_so_far[-1])
    return tuple(int(value) for value in values[ranks])
