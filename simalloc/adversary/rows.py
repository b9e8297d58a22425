"""The adversary of best fit: rows of gaps of one size after the other, closed by objects of 1.

Robson 1977, "Worst case fragmentation of first fit and best fit storage allocation strategies",
shows that best fit can need about M n bytes for M live ones. The sequence is ours: a request of
i + 1 bytes fits no gap of i, so it is put on top. Freed, it is the smallest gap that holds i bytes,
and what is then left of it the smallest that holds 1. In the end all objects of i are freed.
"""

from __future__ import annotations

from math import e
from typing import TYPE_CHECKING

import numpy as np

from simalloc.trace import Op

if TYPE_CHECKING:
    from simalloc.adversary.game import Game


def rows(game: Game, live: int, largest: int) -> None:
    """Play rows of gaps up to `largest` - 1 bytes.

    A row of gaps of i costs (live - closed) / (i + 1) objects of 1, which stay, and raises the heap
    by live - closed. From `largest` / e on the sum of that is most: 0.37 times live times largest.
    """
    number = 0
    for gap in range(max(2, round(largest / e)), largest):
        count = (live - game.live) // (gap + 1)
        if count == 0:
            return
        first = number + 3 * np.arange(count)
        op = np.tile(np.array([Op.MALLOC, Op.FREE, Op.MALLOC, Op.MALLOC], np.uint8), count)
        who = np.stack((first, first, first + 1, first + 2), axis=1).ravel()
        size = np.tile(np.array([gap + 1, 0, gap, 1], np.int64), count)
        game.play(op, who, size)
        held = first + 1
        game.play(np.full(count, Op.FREE, np.uint8), held, np.zeros(count, np.int64))
        number += 3 * int(count)
