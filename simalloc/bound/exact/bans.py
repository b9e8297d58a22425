"""Forbidden distances of buffers that use only some of their bytes at some times.

If two buffers are live together and use all of their bytes, one is located above the other. If one
of them leaves bytes unused for a time, the other may overlap these bytes. The forbidden distances
of the two addresses then form several intervals, one or more for each moment at which both buffers
are live.
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
    """Forbidden distances, or bans, in ascending order of the buffer that they belong to.

    Buffer b has the bans from number `start[b]` to `start[b + 1] - 1` (uint32). A ban with the
    buffer `other` (uint32) forbids each placement with `under < address[b] - address[other] < over`
    (int64, bytes). The bans of two buffers are disjoint.
    """

    start: NDArray[np.uint32]
    other: NDArray[np.uint32]
    under: NDArray[np.int64]
    over: NDArray[np.int64]

    @classmethod
    def none(cls, buffers: int) -> Bans:
        """Return an empty table of bans, for buffers that use all of their bytes at all times."""
        numbers, distances = np.empty(0, np.uint32), np.empty(0, np.int64)
        return cls(np.zeros(buffers + 1, np.uint32), numbers, distances, distances)

    @classmethod
    def of(cls, buffers: Buffers) -> Bans:
        """Return the bans of all pairs of buffers that are live together."""
        bans = np.array([*_merged(_overlaps(buffers))], np.int64).reshape(-1, 4)
        start = np.searchsorted(bans[:, 0], np.arange(len(buffers) + 1)).astype(np.uint32)
        return cls(start, bans[:, 1].astype(np.uint32), *np.ascontiguousarray(bans[:, 2:].T))


def _overlaps(buffers: Buffers) -> list[_Ban]:
    """Return the row (buffer, other, under, over) of each pair of overlapping pieces, sorted."""
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
    """Yield the bans, after joining overlapping bans of the same two buffers.

    A ban excludes its ends. The distance at which two bans touch is therefore allowed, and bans
    that only touch are not joined.
    """
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
