"""How long which object stayed where: the rectangles that a heap map is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simalloc.measure.placements import placements_of
from simalloc.trace.statistics.lives import born_and_died

if TYPE_CHECKING:
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

    @property
    def address(self) -> NDArray[np.float64]:
        """The address in bytes of the program."""
        return self.placed / self.scale

    def __getitem__(self, chosen: NDArray[np.int64]) -> Stays:
        """Return the stays at some places, in that order."""
        return Stays(
            self.object[chosen],
            self.placed[chosen],
            self.scale,
            self.requested[chosen],
            self.birth[chosen],
            self.since[chosen],
            self.until[chosen],
        )


def stays_of(trace: Trace, run: Run) -> Stays:
    """Return all stays of a run that was made with `addresses=True`, as they begin.

    Raises `SimallocError` if it was not.
    """
    placed = placements_of(trace, run)
    since, until = born_and_died(trace)  # a realloc may move its object, and gives it a new size
    owner, address = trace.object[since], placed[since]
    birth = _births(owner, address, since)
    return Stays(owner, address, run.scale, trace.size[since], birth, since, until)


def longest_stays(trace: Trace, run: Run, most: int) -> Stays:
    """Return the stays that took most bytes times events, the greatest first.

    `run` was made with `addresses=True`; raises `SimallocError` if not.
    """
    stays = stays_of(trace, run)
    area = (stays.until - stays.since) * np.maximum(stays.requested, 1).astype(np.float64)
    return stays[np.argsort(-area, kind="stable")[:most]]


def _births(
    owner: NDArray[np.int64], address: NDArray[np.int64], since: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return since when each stay's object had been at its address."""
    several = np.flatnonzero(np.bincount(owner)[owner] > 1)
    several = several[np.argsort(owner[several], kind="stable")]
    begins = np.ones(len(several), np.bool_)
    for column in (owner[several], address[several]):
        begins[1:] &= column[1:] == column[:-1]
    begins[1:] = ~begins[1:]
    first = np.maximum.accumulate(np.where(begins, np.arange(len(several)), 0))
    birth = since.copy()
    birth[several] = since[several[first]]
    return birth
