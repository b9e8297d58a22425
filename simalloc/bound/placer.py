"""Two methods to place all lives of a trace, in the C core.

*Outward from an event*: the objects that are live after the event are packed from address 0 on.
From there, one direction runs forward to the end of the trace, and the other runs backward to its
beginning. Forward, a death leaves a gap and a birth fills one. Backward, a birth leaves a gap and a
death fills one. The heap grows only if no gap fits. The two directions share only the packed
objects and are therefore independent.

*In tiers*: lives are placed in the order of tiers, and of births within a tier. Each life gets the
lowest addresses that no earlier placed life uses while it is live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.bound._c import place_in_tiers, place_outward
from simalloc.bound.exact import engine
from simalloc.bound.timetable import Timetable


class Fit(IntEnum):
    """Rule for choosing a gap, by its number in c/outward.h."""

    FIRST = 0
    """The lowest gap that is large enough."""
    BEST = 1
    """The smallest gap that is large enough; of equal ones, the lowest."""
    MATCH = 2
    """The gap of least cost among the smallest that are large enough (`reference.py`, `_match`)."""


MAX_GAPS: Final = 8
"""Maximum number of gaps that `MATCH` compares.

8, 32 and 128 were tried on redis, cc1, perl and cfrac: higher numbers were slower and seldom gave a
lower heap.
"""


@dataclass(frozen=True, eq=False)
class Layout:
    """A placement of all lives: `address` (int64, bytes) of each, and `height` in bytes."""

    height: int
    address: NDArray[np.int64]
    fits: tuple[Fit, ...] = ()
    """Rules used forward and backward, if the lives were placed outward from an event."""


class Placer:
    """Places the lives of one timetable in C, and counts the processed events."""

    fit = staticmethod(engine.fit)

    def __init__(self, table: Timetable) -> None:
        self.events_gone_through = 0
        self._table = table
        self._address = np.empty(len(table), np.int64)

    def outward(
        self, order: NDArray[np.int64], event: int, fits: Sequence[Fit], limit: int
    ) -> Layout | None:
        """Place all lives outward from an event. Return None if that takes `limit` bytes or more.

        `order` contains the lives that are live after the event, the lowest first. Each direction
        uses the rule of `fits` with the lowest height. Ctrl-C raises `KeyboardInterrupt`.
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

    def in_tiers(self, tier: NDArray[np.uint32], limit: int) -> Layout | None:
        """Place all lives by their tiers, from 0 on.

        Return None if that takes `limit` bytes or more.

        Ctrl-C raises `KeyboardInterrupt`.
        """
        height = self._go_by_tiers(tier, limit)
        return None if height is None else Layout(height, self._address.copy())

    def _go_by_tiers(self, tier: NDArray[np.uint32], limit: int) -> int | None:
        height, events = place_in_tiers(
            self._table.columns,
            tier,
            self._address,
            tiers=int(tier.max(initial=0)) + 1,
            limit=limit,
        )
        self.events_gone_through += events
        return height

    def _go(
        self, packed: NDArray[np.uint32], event: int, fit: Fit, limit: int, *, backward: bool
    ) -> int | None:
        height, events = place_outward(
            self._table.columns,
            packed,
            self._address,
            backward=backward,
            fit=fit,
            max_gaps=MAX_GAPS,
            start=event,
            limit=limit,
        )
        self.events_gone_through += events
        return height
