"""How long which object stayed where: the rectangles that a heap map is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simalloc.measure.placements import placements_of
from simalloc.trace.statistics import lives_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.heap import Run
    from simalloc.trace import Trace


@dataclass(frozen=True, eq=False)
class Stays:
    """Objects that stayed at one address with one size; an entry a stay in every int64 array."""

    object: NDArray[np.int64]
    address: NDArray[np.float64]
    """Bytes of the program."""
    requested: NDArray[np.int64]
    since: NDArray[np.int64]
    """The event that put it there or gave it its size."""
    until: NDArray[np.int64]
    """The event that ended that, or the number of events if none did."""

    def __len__(self) -> int:
        return len(self.object)


def longest_stays(trace: Trace, run: Run, most: int) -> Stays:
    """Return the stays that took most bytes times events, the greatest first.

    `run` was made with `addresses=True`; raises `SimallocError` if not.
    """
    placed = placements_of(trace, run)
    lives = lives_of(trace)  # a realloc begins another: its object may move, and has another size
    area = (lives.died - lives.born) * np.maximum(lives.size, 1).astype(np.float64)
    longest = np.argsort(-area, kind="stable")[:most]
    since = lives.born[longest]
    return Stays(
        object=trace.object[since],
        address=placed[since] / run.scale,
        requested=lives.size[longest],
        since=since,
        until=lives.died[longest],
    )
