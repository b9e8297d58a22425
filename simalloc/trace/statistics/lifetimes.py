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
    """Mean lifetimes, in bytes allocated meanwhile; 0 for a trace without objects."""

    mean: float
    """Over objects: what table 1 of Johnstone and Wilson 1998 prints."""
    weighted: float
    """Weighted by size, that is over allocated bytes: what their text defines."""
    mean_objects: float
    """Over objects, in objects allocated meanwhile."""


@dataclass(frozen=True)
class Neighbours:
    """Bytes allocated after a death until both temporal neighbours of the dead are free too.

    One figure each for 90, 99 and 99.9 % (`SHARES`).
    """

    objects: tuple[int, ...]
    """The waits that these shares of the objects do not exceed (table 5)."""
    bytes: tuple[int, ...]
    """The waits that these shares of the allocated bytes do not exceed (table 6)."""


def lifetimes_of(reader: LifeReader, objects: int, allocated: int) -> Lifetimes:
    """Return the average lifetimes of a trace that has been gone through."""
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

    The waits are added and `narrow` is called, repeatedly until `found` is set.
    """

    def __init__(self, allocated: int) -> None:
        self._objects = Quantiles(allocated)
        self._bytes = Quantiles(allocated)

    @property
    def found(self) -> Neighbours | None:
        """The result, or None before it is known."""
        objects, weighted = self._objects.found, self._bytes.found
        return None if objects is None or weighted is None else Neighbours(objects, weighted)

    def add(self, completed: Completed) -> None:
        """Count some waits."""
        self._objects.add(completed.wait)
        self._bytes.add(completed.wait, completed.size)

    def narrow(self) -> None:
        """Come nearer, when all waits have been added."""
        self._objects.narrow()
        self._bytes.narrow()


def neighbours_of(lives: Lives, *, freed_only: bool = False) -> Neighbours:
    """Return the waits until given shares of objects and bytes have both temporal neighbours free.

    With `freed_only`, objects that are never freed count only as neighbours, not in the shares.
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

    The neighbours are the objects allocated just before and just after (Johnstone and Wilson
    1998, 6.3). The first and the last object have one neighbour only: the missing one is free.
    """
    until = lives.death.copy()
    np.maximum(until[1:], lives.death[:-1], out=until[1:])
    np.maximum(until[:-1], lives.death[1:], out=until[:-1])
    return until - lives.death


def _quantiles(values: NDArray[np.int64], weight_so_far: NDArray[np.int64]) -> tuple[int, ...]:
    """Return the least of the ascending values that reach each share of the weight."""
    if not len(values):
        return (0,) * len(SHARES)
    ranks = np.searchsorted(weight_so_far, np.array(SHARES) * weight_so_far[-1])
    return tuple(int(value) for value in values[ranks])
