"""By which tiers lives are placed: the first tier's as if there were no others.

What is large or lives long is hard to find a place for when much is placed, and small objects that
die young are not: they fill the gaps.
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
    """Return how many births and deaths placing by these tiers goes through.

    Those of a tier once, and before it twice those of all earlier ones.
    """
    placed = 2 * np.cumsum(np.bincount(tier))
    return int(placed.sum() + placed[:-1].sum())


def _falling(key: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Return the number of each key among the different ones, rounded down, the highest first."""
    _, number = np.unique(-np.floor(key), return_inverse=True)
    return number.astype(np.uint32)
