"""Fast ways to place all lives of a trace, in the order in which they are tried."""

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
"""Live bytes are near their peak if they lack less than one part in one of these numbers."""

TIER_EVENTS: Final = 30_000_000
"""Maximum number of events of a try by tiers."""

_PLAIN: Final = (Fit.FIRST, Fit.BEST)
_ALL: Final = (Fit.FIRST, Fit.BEST, Fit.MATCH)


class Try(Protocol):
    """A way to place all lives."""

    def place(self, placer: Placer, table: Timetable, limit: int) -> Layout | None:
        """Place them; None if that takes `limit` bytes or more."""

    def words(self, found: Layout) -> str:
        """Return the method of the placement in words."""


class FromEvent(NamedTuple):
    """From where, in which order and by which fits lives are placed; `where` says it in words."""

    where: str
    event: int
    order: Order
    fits: Sequence[Fit]

    def place(self, placer: Placer, table: Timetable, limit: int) -> Layout | None:
        """Place all lives outward from the event."""
        order = self.order.pack(table, self.event, table.live_after(self.event))
        return placer.outward(order, self.event, self.fits, limit)

    def words(self, found: Layout) -> str:
        """Say from where, in which order and by which fits."""
        forward, backward = (fit.name.lower() for fit in found.fits)
        fits = (
            f"{forward} fit" if forward == backward else f"{forward} fit, backward {backward} fit"
        )
        return f"outward from {self.where}, {self.order.words}, {fits}"


class ByTiers(NamedTuple):
    """A placement by tiers."""

    tiers: Tiers

    def place(self, placer: Placer, table: Timetable, limit: int) -> Layout | None:
        """Place all lives in tiers, unless that exceeds `TIER_EVENTS`."""
        tier = self.tiers.of(table)
        if work_of(tier) > TIER_EVENTS:
            return None
        return placer.in_tiers(tier, limit)

    def words(self, found: Layout) -> str:
        """Say by which tiers."""
        del found
        return f"in tiers {self.tiers.words}"


def tries(table: Timetable) -> Iterator[Try]:
    """Yield the tries in turn: those that reach the bound most often come first.

    Around the first event near the peak, earlier objects have room to spare, so the live objects
    can be packed for the later ones; around the last such event, for the earlier ones.
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
