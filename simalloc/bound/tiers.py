"""Tiers in which lives are placed: the first tier as if it were alone.

Large or long-lived objects are hard to place when many others are placed. Small objects that die
young are not: they fill the gaps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.timetable import Timetable


class Tiers(NamedTuple):
    """A way to divide lives, in words, and as a function of a timetable to the tier of each.

    Tiers are numbered from 0 on, and none is empty (uint32).
    """

    words: str
    of: Callable[[Timetable], NDArray[np.uint32]]


def by_size(steps: int) -> Tiers:
    """Return the tiers, `steps` to a doubling of the size."""
    words = f"by size, {steps} to a doubling"
    return Tiers(words, lambda table: _falling(steps * np.log2(table.size)))


def by_area(steps: int) -> Tiers:
    """Return the tiers, `steps` to a doubling of the size times the lifetime in events."""

    def of(table: Timetable) -> NDArray[np.uint32]:
        lifetime = table.died - table.born
        return _falling(steps * (np.log2(table.size) + np.log2(lifetime)))

    return Tiers(f"by size times lifetime, {steps} to a doubling", of)


TIERS: Final = (by_area(2), by_size(4))


def work_of(tier: NDArray[np.uint32]) -> int:
    """Return the number of births and deaths that a placement by these tiers processes.

    The events of a tier count once, and before that all earlier ones count twice.
    """
    placed = 2 * np.cumsum(np.bincount(tier))
    return int(placed.sum() + placed[:-1].sum())


def _falling(key: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Return the number of each key among the different ones, rounded down, the highest first."""
    _, number = np.unique(-np.floor(key), return_inverse=True)
    return number.astype(np.uint32)
