"""Tiers in which lives are placed; the first tier is placed in an empty heap.

Large or long-lived objects are hard to place among many others. Small objects with short lives are
easy to place, because they fill the gaps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.timetable import Timetable


class Tiers(NamedTuple):
    """A division of lives into tiers: its name, and a function of a timetable.

    The function returns the tier of each life (uint32). Tiers are numbered from 0, and none is
    empty.
    """

    words: str
    of: Callable[[Timetable], NDArray[np.uint32]]


def by_size(steps: int) -> Tiers:
    """Return the tiers by size, with `steps` tiers for each doubling."""
    words = f"by size, {steps} to a doubling"
    return Tiers(words, lambda table: _falling(steps * np.log2(table.size)))


def by_area(steps: int) -> Tiers:
    """Return the tiers by size times lifetime in events, with `steps` tiers for each doubling."""

    def of(table: Timetable) -> NDArray[np.uint32]:
        lifetime = table.died - table.born
        return _falling(steps * (np.log2(table.size) + np.log2(lifetime)))

    return Tiers(f"by size times lifetime, {steps} to a doubling", of)


TIERS: Final = (by_area(2), by_size(4))


def work_of(tier: NDArray[np.uint32]) -> int:
    """Return the number of births and deaths that a placement by these tiers processes.

    Each tier processes its own events once, and the events of all earlier tiers twice.
    """
    placed = 2 * np.cumsum(np.bincount(tier))
    return int(placed.sum() + placed[:-1].sum())


def _falling(key: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Return the rank of each key, rounded down, among the different keys; 0 is the highest."""
    _, number = np.unique(-np.floor(key), return_inverse=True)
    return number.astype(np.uint32)
