"""Verification of a placement: a replay in time, independent of the method that produced it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.bound._c import sweep_through
from simalloc.bound.timetable import Timetable

MARKED: Final = 16
"""Addresses are ranked by marking if all are below `MARKED` times the number of lives."""


@dataclass(frozen=True, eq=False)
class Swept:
    """The heap of a valid placement, in which no two live objects overlap.

    The heap ends at the highest end of an object so far, and every gap between objects is a free
    block. `heap` (int64, bytes) is its size and `free_blocks` (int64) the number of free blocks
    after each event. The other figures are counted as docs/policies.md defines them.
    """

    heap: NDArray[np.int64]
    free_blocks: NDArray[np.int64]
    growths: int
    splits: int
    coalescings: int


def verify(table: Timetable, address: NDArray[np.int64]) -> Swept:
    """Verify a placement: the address of each life (int64, bytes).

    Raises `ValueError` if two lives overlap while both are live. Also raises it if a life is below
    address 0, extends beyond 2**63 - 1, or is not at a multiple of its alignment. The message names
    the lives. Lives with gaps overlap only where both use a byte; addresses in the message are then
    the addresses of the pieces.
    """
    if len(address) != len(table):
        raise ValueError(f"{len(address)} addresses are given for {len(table)} lives")
    if len(address) and address.min() < 0:
        raise ValueError(
            f"life {int(address.argmin())} is at the negative address {int(address.min())}"
        )
    beyond = np.flatnonzero(address > np.iinfo(np.int64).max - table.size)
    if len(beyond):
        raise ValueError(f"life {beyond[0]} at {address[beyond[0]]} ends beyond 2**63 - 1")
    if table.alignment.max(initial=1) > 1 and (askew := address % table.alignment).any():
        life = int((askew != 0).argmax())
        raise ValueError(
            f"life {life} is at {address[life]}, not at a multiple of {table.alignment[life]}"
        )
    if table.pieces is None:
        return _swept(table, address, np.arange(len(table)))
    owner = table.pieces.owner
    return _swept(table.pieces.table, address[owner] + table.pieces.low, owner)


def _swept(table: Timetable, address: NDArray[np.int64], owner: NDArray[np.int64]) -> Swept:
    """Sweep over lives, or pieces of the lives `owner`, in the order of time."""
    rank, ranks = _ranks(address)
    heap, free_blocks = (np.empty(table.events, np.int64) for _ in range(2))
    figures = sweep_through(
        table.columns,
        address,
        rank,
        heap,
        free_blocks,
        ranks=ranks,
    )
    if "overlaps" in figures:
        one, other = figures["overlapped"], figures["overlaps"]
        raise ValueError(
            f"life {owner[one]} at {address[one]} and life {owner[other]} at {address[other]} "
            f"overlap at event {table.born[one]}"
        )
    return Swept(heap, free_blocks, **figures)


def _ranks(address: NDArray[np.int64]) -> tuple[NDArray[np.uint32], int]:
    """Return the rank of each address among the different addresses, from 0, and their number.

    Marking takes less time than sorting; it is used if all addresses are below `MARKED` times their
    number.
    """
    if address.max(initial=0) >= MARKED * len(address):
        different, place = np.unique(address, return_inverse=True)
        return place.astype(np.uint32), len(different)
    is_next = np.zeros(int(address.max(initial=0)) + 2, np.bool_)
    is_next[address + 1] = True
    below = np.cumsum(is_next, dtype=np.uint32)
    rank: NDArray[np.uint32] = below[address]
    return rank, int(below[-1])
