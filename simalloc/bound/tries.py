"""Fast methods to place all lives of a trace, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np

from simalloc.bound.orders import (
    FOREMOST,
    Order,
    all_grouped,
    last_to_die_lowest,
    oldest_lowest,
)
from simalloc.bound.placer import Fit, Layout, Placer
from simalloc.bound.tiers import TIERS, Tiers, work_of
from simalloc.bound.timetable import Timetable

NEAR: Final = (500, 50, 20, 10)
"""Values of n: live bytes are near their peak if they are at least peak - peak / n."""

TIER_EVENTS: Final = 30_000_000
"""Maximum number of events of a try by tiers."""

_PLAIN: Final = (Fit.FIRST, Fit.BEST)
_ALL: Final = (Fit.FIRST, Fit.BEST, Fit.MATCH)


class Try(Protocol):
    """A method to place all lives."""

    def place(self, placer: Placer, table: Timetable, limit: int) -> Layout | None:
        """Return a placement of all lives, or None if it takes `limit` bytes or more."""

    def words(self, found: Layout) -> str:
        """Return a description of the method."""


class FromEvent(NamedTuple):
    """A placement outward from an event, in an order and by some fits; `where` names the event."""

    where: str
    event: int
    order: Order
    fits: Sequence[Fit]

    def place(self, placer: Placer, table: Timetable, limit: int) -> Layout | None:
        """Place all lives outward from the event."""
        order = self.order.pack(table, self.event, table.live_after(self.event))
        return placer.outward(order, self.event, self.fits, limit)

    def words(self, found: Layout) -> str:
        """Return the event, the order and the fits in words."""
        forward, backward = (fit.name.lower() for fit in found.fits)
        fits = (
            f"{forward} fit" if forward == backward else f"{forward} fit, backward {backward} fit"
        )
        return f"outward from {self.where}, {self.order.words}, {fits}"


class ByTiers(NamedTuple):
    """A placement by tiers."""

    tiers: Tiers

    def place(self, placer: Placer, table: Timetable, limit: int) -> Layout | None:
        """Place all lives in tiers. Return None if that exceeds `limit` or `TIER_EVENTS`."""
        tier = self.tiers.of(table)
        if work_of(tier) > TIER_EVENTS:
            return None
        return placer.in_tiers(tier, limit)

    def words(self, found: Layout) -> str:
        """Return the tiers in words."""
        del found
        return f"in tiers {self.tiers.words}"


def tries(table: Timetable) -> Iterator[Try]:
    """Yield the tries. The tries that reach the bound most often come first.

    At the first event near the peak, earlier objects have space to spare; the live objects can
    therefore be packed to suit the later objects. At the last event near the peak, the live objects
    can be packed to suit the earlier objects.
    """
    peak = int(table.live.argmax())
    near = {parts: np.flatnonzero(table.live >= table.peak - table.peak // parts) for parts in NEAR}
    for order in FOREMOST:
        fits = _ALL if order is last_to_die_lowest else _PLAIN
        yield FromEvent("the peak", peak, order, fits)
    for parts, events in near.items():
        first, last = int(events[0]), int(events[-1])
        yield FromEvent(
            f"where live bytes first come near it (1/{parts})", first, last_to_die_lowest, _ALL
        )
        yield FromEvent(f"where live bytes are last near it (1/{parts})", last, oldest_lowest, _ALL)
    yield from map(ByTiers, TIERS)
    for parts, events in near.items():
        for order in all_grouped():
            last = int(events[-1])
            yield FromEvent(f"where live bytes are last near it (1/{parts})", last, order, _PLAIN)
