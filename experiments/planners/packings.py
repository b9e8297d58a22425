"""Perfect packings: instances for which some placement leaves no byte free at any time."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from experiments.bounds.small import trace_of
from simalloc.trace import Trace

TIMES: Final = 1_000
BYTES: Final = 1 << 20
"""Height in bytes of the rectangle that is cut; `TIMES` is its length in time."""


class Piece(NamedTuple):
    """A rectangle in the plane of time and addresses; `upper` and `above` are excluded."""

    lower: int
    upper: int
    address: int
    above: int

    @property
    def area(self) -> int:
        """Product of length and height."""
        return (self.upper - self.lower) * (self.above - self.address)


def cut(count: int, seed: int) -> list[Piece]:
    """Cut the rectangle into `count` pieces: each cut halves a piece at a random place.

    The piece is drawn in proportion to its area, and each direction is equally likely.
    """
    rng = np.random.default_rng(seed)
    pieces = [Piece(0, TIMES, 0, BYTES)]
    while len(pieces) < count:
        areas = np.array([piece.area for piece in pieces], np.float64)
        number = int(rng.choice(len(pieces), p=areas / areas.sum()))
        lower, upper, address, above = pieces[number]
        if rng.integers(2) and upper - lower > 1:
            at = int(rng.integers(lower + 1, upper))
            halves = (Piece(lower, at, address, above), Piece(at, upper, address, above))
        elif above - address > 1:
            at = int(rng.integers(address + 1, above))
            halves = (Piece(lower, upper, address, at), Piece(lower, upper, at, above))
        else:
            continue
        pieces[number : number + 1] = halves
    return pieces


def packing(count: int, seed: int) -> Trace:
    """Return the buffers of a perfect packing, in random order; `BYTES` bytes are always live."""
    pieces = cut(count, seed)
    order = np.random.default_rng(seed).permutation(count)
    return trace_of(
        [
            (piece.lower, piece.upper, piece.above - piece.address)
            for piece in (pieces[number] for number in order)
        ]
    )
