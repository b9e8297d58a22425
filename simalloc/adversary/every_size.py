"""The adversary of first fit: every size in turn, with gaps that are one byte too small.

With M live bytes in objects of 1 to n bytes, the worst case of first fit is about M log2(n) bytes
(Robson 1977, "Worst case fragmentation of first fit and best fit storage allocation strategies").
The sequence is ours. No gap ever holds the next request; each request therefore raises the heap
under every policy. Objects of k bytes are adjacent at first. Before the first request of k + 1
bytes, every second object is freed. Before the first request of 3 k + 1 bytes, every second
remaining object is freed, then again before 7 k + 1 and so on. At these moments the resulting gaps
are too small for the requests.

The growth follows from the share c of a placed byte that stays live, summed over all later sizes s
with weight ds / s. The heap grows as M ln(n) / c. Here c is ln(3) / 2 + ln(7 / 3) / 4 + ln(15 / 7)
/ 8 + ... = 0.946, so the heap grows as 0.73 M log2(n). If every gap could grow with the requested
size, c would be ln(2), which gives M log2(n).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from simalloc.adversary.game import Game, Placed


def every_size(game: Game, live: int, largest: int) -> None:
    """Play one phase for each size to `largest`: free objects, then allocate up to `live` bytes."""
    placed = game.allocate(np.ones(live, np.int64))
    for size in range(2, largest + 1):
        placed = _thinned(game, placed, size)
        count = (live - game.live) // size
        if count:
            placed = placed.with_more(game.allocate(np.full(count, size, np.int64)))


def _thinned(game: Game, placed: Placed, size: int) -> Placed:
    """Free objects while no gap of `size` bytes results, and return the remaining objects."""
    placed = placed.by_address()
    while True:
        alone = spare(placed, size)
        if not alone.any():
            return placed
        game.free(placed.where(alone))
        placed = placed.where(~alone)


def spare(placed: Placed, size: int) -> NDArray[np.bool_]:
    """Return a mask of the objects, by address, to free without a gap of `size` bytes.

    In a run of neighbours that could each be freed alone, the first, the third and so on are freed.
    The last object stays, because the space above it is the end of the heap and not a gap.
    """
    end = placed.address + placed.size
    before = np.concatenate((np.zeros(1, np.int64), end[:-2]))
    can = np.zeros(len(end), bool)
    can[:-1] = placed.address[1:] - before < size
    position = np.arange(len(can))
    last_that_cannot = np.maximum.accumulate(np.where(can, -1, position))
    return np.asarray((position - last_that_cannot) % 2 == 1)
