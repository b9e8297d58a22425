"""One exact search in C, and the interface that it shares with the reference implementation."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np

from simalloc.bound._c import search_exact
from simalloc.bound.exact.buffers import Buffers, Ints, Numbers


class Outcome(IntEnum):
    """Result of one search, as c/exact.h numbers it."""

    REFUTED = 0
    """No placement fits into the capacity."""
    FITS = 1
    UNDECIDED = 2
    """The limit of nodes or of time was reached first."""


class Searched(NamedTuple):
    """Outcome of a search, the nodes it visited, and its refutations by section (int64).

    `address` (int64, bytes) is a placement if the outcome is `FITS`.
    """

    outcome: Outcome
    nodes: int
    failures: Ints
    address: Ints


Asked = Callable[[], bool]
"""Callback that returns whether a search may continue; a search calls it from time to time."""


def _always() -> bool:
    return True


class Fit(Protocol):
    """A search for a placement; `fit` documents its parameters."""

    def __call__(
        self,
        buffers: Buffers,
        rank: Numbers,
        capacity: int,
        nodes: int,
        seconds: float,
        goes_on: Asked = ...,
        /,
    ) -> Searched:
        """Search for a placement."""


def fit(
    buffers: Buffers,
    rank: Numbers,
    capacity: int,
    nodes: int,
    seconds: float,
    goes_on: Asked = _always,
    /,
) -> Searched:
    """Search for a placement of the buffers below `capacity` bytes.

    Among buffers with the same lower bound, the buffer with the lowest `rank` (uint32, a
    permutation) is placed first. The search ends undecided after `nodes` nodes or `seconds`
    seconds, or when `goes_on` returns False. Ctrl-C raises `KeyboardInterrupt`.
    """
    sections, bans = buffers.sections, buffers.bans
    failures = np.zeros(sections.count, np.int64)
    low = np.zeros(len(buffers), np.int64)
    of_buffers = buffers.size, buffers.alignment, buffers.twins, rank, low
    of_pieces = (
        sections.piece_first, sections.piece_last, buffers.low, buffers.room, buffers.padding
    )  # fmt: skip
    of_bans = bans.other, bans.under, bans.over
    outcome, visited = search_exact(
        (*of_buffers, *of_pieces, *of_bans, sections.pieces, bans.start, failures),
        goes_on,
        capacity=capacity,
        step=buffers.step,
        nodes=nodes,
        seconds=seconds,
    )
    return Searched(Outcome(outcome), visited, failures, low)
