"""How long which object stayed where: the rectangles that a heap map is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from simalloc.measure.placements import placements_of
from simalloc.trace.lives import born_and_died

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from simalloc.heap import Run
    from simalloc.trace import Trace


@dataclass(frozen=True, eq=False)
class Stays:
    """Objects that stayed at one address with one size; an entry a stay in every int64 array."""

    object: NDArray[np.int64]
    placed: NDArray[np.int64]
    """The address in scaled bytes."""
    scale: int
    requested: NDArray[np.int64]
    birth: NDArray[np.int64]
    """The event that put it there: `since`, or before it if a realloc left it where it was."""
    since: NDArray[np.int64]
    """The event that put it there or gave it its size."""
    until: NDArray[np.int64]
    """The event that ended that, or the number of events if none did."""

    def __len__(self) -> int:
        return len(self.object)

    def first(self, count: int) -> Stays:
        """Return the first stays, `count` at the most."""
        columns = (self.object, self.placed, self.requested, self.birth, self.since, self.until)
        number, placed, requested, birth, since, until = (column[:count] for column in columns)
        return Stays(number, placed, self.scale, requested, birth, since, until)

    @property
    def address(self) -> NDArray[np.float64]:
        """The address in bytes of the program."""
        return self.placed / self.scale


Choice: TypeAlias = "Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]"
"""Which of the stays, and in which order, by when they begin and end."""


def stays_of(trace: Trace, runs: Sequence[Run], choose: Choice) -> list[Stays]:
    """Return the stays of each run that `choose` chooses; what all have in common, they share.

    The runs were made with `addresses=True`; raises `SimallocError` if one was not.
    """
    all_placed = [placements_of(trace, run) for run in runs]
    begins, ends = born_and_died(trace)  # a realloc may move its object, and gives it a new size
    chosen = choose(begins, ends)
    owner, since, until = trace.object[begins], begins[chosen], ends[chosen]
    numbers, sizes = trace.object[since], trace.size[since]
    reallocated = _of_reallocated(owner)
    stays = []
    for run, placed in zip(runs, all_placed, strict=True):
        birth = _births(reallocated, owner, placed[begins], begins)[chosen]
        stays.append(Stays(numbers, placed[since], run.scale, sizes, birth, since, until))
    return stays


def _of_reallocated(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of stays whose object has several, object by object."""
    several = np.flatnonzero(np.bincount(owner)[owner] > 1)
    return several[np.argsort(owner[several], kind="stable")]


def _births(
    several: NDArray[np.int64],
    owner: NDArray[np.int64],
    address: NDArray[np.int64],
    since: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return since when each stay's object had been at its address."""
    begins = np.ones(len(several), np.bool_)
    for column in (owner[several], address[several]):
        begins[1:] &= column[1:] == column[:-1]
    begins[1:] = ~begins[1:]
    first = np.maximum.accumulate(np.where(begins, np.arange(len(several)), 0))
    birth = since.copy()
    birth[several] = since[several[first]]
    return birth
