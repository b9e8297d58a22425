"""The adversary of first fit: every size in turn, over gaps that are one byte too small.

Robson 1977, "Worst case fragmentation of first fit and best fit storage allocation strategies",
gives first fit a worst case of about M log2(n) bytes for M live ones in objects of 1 to n bytes.
The sequence is ours. No gap ever holds the next request, so each one raises the heap, whatever the
policy prefers. Objects of k lie side by side at first. Every second one goes when k + 1 bytes are
asked for, and every second of the rest at 3 k + 1, at 7 k + 1 and so on: as soon as the gap that
this makes is too small.

How far this goes: let c be what stays live of a byte placed, summed over all later sizes s with
weight ds / s. Then the heap grows as M ln(n) / c. Here c is ln(3) / 2 + ln(7 / 3) / 4 +
ln(15 / 7) / 8 + ... = 0.946, so the heap grows as 0.73 M log2(n). If every gap could grow with the
size asked for, c would be ln(2), which gives M log2(n).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from simalloc.adversary.game import Game, Placed


def every_size(game: Game, live: int, largest: int) -> None:
    """Play one phase for each size up to `largest`: thin out, then allocate what `live` allows."""
    placed = game.allocate(np.ones(live, np.int64))
    for size in range(2, largest + 1):
        placed = _thinned(game, placed, size)
        count = (live - game.live) // size
        if count:
            placed = placed.with_more(game.allocate(np.full(count, size, np.int64)))


def _thinned(game: Game, placed: Placed, size: int) -> Placed:
    """Free objects as long as that leaves no gap of `size` bytes, and return the others."""
    placed = placed.by_address()
    while True:
        alone = spare(placed, size)
        if not alone.any():
            return placed
        game.free(placed.where(alone))
        placed = placed.where(~alone)


def spare(placed: Placed, size: int) -> NDArray[np.bool_]:
    """Return which objects, in order of address, can go without leaving a gap of `size` bytes.

    Of neighbours that could go one by one it is the first, the third and so on. The last object
    stays: beyond it is no gap but the end of the heap.
    """
    end = placed.address + placed.size
    before = np.concatenate((np.zeros(1, np.int64), end[:-2]))
    can = np.zeros(len(end), bool)
    can[:-1] = placed.address[1:] - before < size
    position = np.arange(len(can))
    last_that_cannot = np.maximum.accumulate(np.where(can, -1, position))
    return np.asarray((position - last_that_cannot) % 2 == 1)
