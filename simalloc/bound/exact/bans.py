"""Forbidden distances of buffers that do not use all of their bytes at all times.

Two whole buffers that meet lie one above the other. If one of them leaves some of its bytes unused
for a time, the other may reach into it there: the distances of their addresses that are forbidden
are then several intervals, one or more for each moment at which the two meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from simalloc.bound.exact.buffers import Buffers

_Ban = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class Bans:
    """The bans of buffer b are numbered `start[b]` up to before `start[b + 1]` (uint32).

    A ban of buffer b with the buffer `other` (uint32) forbids every placement in which the address
    of b, less the address of the other, is above `under` and below `over` (int64, bytes). The bans
    of two buffers are disjoint.
    """

    start: NDArray[np.uint32]
    other: NDArray[np.uint32]
    under: NDArray[np.int64]
    over: NDArray[np.int64]

    @classmethod
    def none(cls, buffers: int) -> Bans:
        """Return no bans, for buffers that are always whole."""
        numbers, distances = np.empty(0, np.uint32), np.empty(0, np.int64)
        return cls(np.zeros(buffers + 1, np.uint32), numbers, distances, distances)

    @classmethod
    def of(cls, buffers: Buffers) -> Bans:
        """Find the bans of all pairs of buffers that meet."""
        bans = np.array([*_merged(_overlaps(buffers))], np.int64).reshape(-1, 4)
        start = np.searchsorted(bans[:, 0], np.arange(len(buffers) + 1)).astype(np.uint32)
        return cls(start, bans[:, 1].astype(np.uint32), *np.ascontiguousarray(bans[:, 2:].T))


def _overlaps(buffers: Buffers) -> list[_Ban]:
    """Return buffer, other, under and over for each pair of pieces that meet, in this order."""
    found = []
    for piece, owner in enumerate(buffers.owner.tolist()):
        meets = (buffers.begin < buffers.end[piece]) & (buffers.begin[piece] < buffers.end)
        others = np.flatnonzero(meets & (buffers.owner != owner))
        under = buffers.low[others] - buffers.high[piece]
        over = buffers.high[others] - buffers.low[piece]
        owners = np.full(len(others), owner)
        found.append(np.stack((owners, buffers.owner[others], under, over), axis=1))
    bans = np.concatenate(found)
    order = np.lexsort(bans.T[::-1])
    return [*map(tuple, bans[order].tolist())]


def _merged(bans: list[_Ban]) -> Iterator[_Ban]:
    """Yield the bans with the ones that overlap joined; a distance between two is allowed."""
    if not bans:
        return
    held = bans[0]
    for ban in bans[1:]:
        if ban[:2] == held[:2] and ban[2] < held[3]:
            held = (*held[:3], max(held[3], ban[3]))
        else:
            yield held
            held = ban
    yield held
