"""Placing all lives outward from one event, in the C core.

What is live after the event is packed from address 0 on. From there time runs forward to the end of
the trace and backward to its beginning: an object that dies, or, backward, was just born, leaves a
gap, and one that is born, or had just died, takes one. The heap is raised only when nothing fits.
The two directions share the packed objects alone, and do not disturb each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.bound._native import place_outward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from simalloc.bound.timetable import Timetable


class Fit(IntEnum):
    """Which gap an object takes, as native/outward.h numbers them."""

    FIRST = 0
    """The lowest that is large enough."""
    BEST = 1
    """The smallest, of equals the lowest."""
    MATCH = 2
    """Of the smallest few that whose neighbours die, or were born, nearest to it."""


LOOKED_AT: Final = 8
"""The gaps that `MATCH` weighs; with more of them it does worse on most traces, and is slower."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Where every life is: `address` (int64, bytes), below `height`; `fits` say how."""

    height: int
    address: NDArray[np.int64]
    fits: tuple[Fit, Fit]
    """Forward and backward."""


class Outward:
    """Places the lives of one timetable in C, and counts the events gone through for that."""

    def __init__(self, table: Timetable) -> None:
        self.events_gone_through = 0
        self._table = table
        self._address = np.empty(len(table), np.int64)

    def place(
        self, order: NDArray[np.int64], event: int, fits: Sequence[Fit], limit: int
    ) -> Layout | None:
        """Place all lives outward from an event; None if that takes `limit` bytes or more.

        `order` has the lives that are live after the event, the lowest first. Each direction goes
        by the one of the `fits` that is lowest there. Ctrl-C raises `KeyboardInterrupt`.
        """
        address = np.empty_like(self._address)
        packed = order.astype(np.uint32)
        born = self._table.born_until(event)
        found = []
        for backward, lives in ((False, slice(born, None)), (True, slice(born))):
            best: tuple[int, Fit] | None = None
            for fit in fits:
                below = limit if best is None else best[0]
                height = self._go(packed, event, fit, below, backward=backward)
                if height is not None:
                    best = height, fit
                    address[lives] = self._address[lives]
                if height is not None and height <= self._table.peak:
                    break
            if best is None:
                return None
            found.append(best)
        (forward_height, forward), (backward_height, backward_fit) = found
        return Layout(max(forward_height, backward_height), address, (forward, backward_fit))

    def _go(
        self, packed: NDArray[np.uint32], event: int, fit: Fit, limit: int, *, backward: bool
    ) -> int | None:
        height, events = place_outward(
            *self._table.columns,
            packed,
            self._address,
            slots=self._table.slots,
            backward=backward,
            fit=fit,
            looked_at=LOOKED_AT,
            start=event,
            limit=limit,
        )
        self.events_gone_through += events
        return height
