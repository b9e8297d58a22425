"""Robson's adversary: every policy needs about M (log2 n) / 2 bytes for M live bytes.

Source: Robson 1974, "Bounds for some functions concerning dynamic storage allocation". In the terms
of Cohen & Petrank 2013, "Limitations of partial compaction", an object is f-occupying in phase i if
it covers an address that is f modulo 2^i. All other objects are freed, so no gap holds an object of
2^i bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from simalloc.adversary.game import Game, Placed


def robson(game: Game, live: int, largest: int) -> None:
    """Play until objects of `largest` bytes, a power of two, are allocated."""
    placed = game.allocate(np.ones(live, np.int64))
    offset, step = 0, 2
    while step <= largest:
        offset = max((offset, offset + step // 2), key=lambda given: _left(placed, given, step))
        placed = _next_phase(game, placed, occupying(placed, offset, step), live, step)
        step *= 2


def occupying(placed: Placed, offset: int, step: int) -> NDArray[np.bool_]:
    """Return a mask of the objects that cover an address that is `offset` modulo `step`."""
    return (offset - placed.address) % step < placed.size


def _left(placed: Placed, offset: int, step: int) -> int:
    """Return the bytes that the occupying objects make unusable for objects of `step` bytes."""
    kept = placed.size[occupying(placed, offset, step)]
    return int((step - kept).sum())


def against_buddies(game: Game, live: int, largest: int) -> None:
    """Play Robson's method against a binary buddy, with requests just above powers of two.

    The blocks of a buddy are aligned and need no offset. A request of 2^(i-1) + 1 bytes occupies a
    block of 2^i bytes. In each aligned block of 2^i bytes, the smallest object is kept. The blocks
    are described by Knowlton 1965; the bound follows from an argument like Robson's.
    """
    placed = game.allocate(np.ones(live, np.int64))
    step = 2
    while step <= largest:
        block = placed.address // step
        order = np.lexsort((placed.size, block))
        first = np.ones(len(order), bool)
        first[1:] = block[order][1:] != block[order][:-1]
        keep = np.zeros(len(order), bool)
        keep[order[first]] = True
        placed = _next_phase(game, placed, keep, live, step // 2 + 1)
        step *= 2


def _next_phase(
    game: Game, placed: Placed, keep: NDArray[np.bool_], live: int, size: int
) -> Placed:
    """Free all other objects, and allocate objects of `size` bytes until `live` bytes are live."""
    game.free(placed.where(~keep))
    return placed.where(keep).with_more(
        game.allocate(np.full((live - game.live) // size, size, np.int64))
    )
