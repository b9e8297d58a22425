"""The least heap for one who knows the whole trace: tries, until one reaches the bound.

Dynamic storage allocation with known lifetimes is NP-hard, and the peak of live bytes cannot always
be reached (Buchsbaum et al. 2003, "OPT versus LOAD in dynamic storage allocation"). On real
programs it nearly always can. The tries are our own. What is left to chance is drawn from fixed
seeds, so that the answer is always the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np

from simalloc.bound.orders import (
    FOREMOST,
    Order,
    all_grouped,
    last_to_die_lowest,
    oldest_lowest,
    shuffled,
)
from simalloc.bound.placement import Placement
from simalloc.bound.placer import Fit, Layout, Placer
from simalloc.bound.tiers import TIERS, Tiers, work_of
from simalloc.bound.timetable import Timetable
from simalloc.bound.verify import verify
from simalloc.trace import Trace

NEAR: Final = (500, 50, 20, 10)
"""Live bytes are near their peak if they lack less than one part in this many."""

SHUFFLES: Final = 400
"""What is tried by chance in the end: it helps with a few objects, where there is time for it."""

PASSES: Final = 16
EVENTS: Final = 20_000_000
"""The search ends after this many times the trace's events, and after this many in all."""

TIER_EVENTS: Final = 30_000_000
"""Tiers are tried where they take no more than this many events."""

_PLAIN: Final = (Fit.FIRST, Fit.BEST)
_ALL: Final = (Fit.FIRST, Fit.BEST, Fit.MATCH)


class Try(Protocol):
    """A way to place all lives."""

    def place(self, placer: Placer, table: Timetable, limit: int) -> Layout | None:
        """Place them; None if that takes `limit` bytes or more."""

    def words(self, found: Layout) -> str:
        """Say how they were placed."""


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
    """Which tiers lives are placed by."""

    tiers: Tiers

    def place(self, placer: Placer, table: Timetable, limit: int) -> Layout | None:
        """Place all lives in tiers, unless those are so many that it would take too long."""
        tier = self.tiers.of(table)
        if work_of(tier) > TIER_EVENTS:
            return None
        return placer.in_tiers(tier, limit)

    def words(self, found: Layout) -> str:
        """Say by which tiers."""
        del found
        return f"in tiers {self.tiers.words}"


def tries(table: Timetable) -> Iterator[Try]:
    """Yield what is tried, in turn: what reaches the bound most often comes first.

    Around the first event near the peak all earlier ones have room to spare, so what is live there
    can be packed for what follows; around the last such event, for what came before.
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
    for order in all_grouped():
        yield FromEvent("the peak", peak, order, _PLAIN)
    for parts, events in near.items():
        for order in all_grouped():
            last = int(events[-1])
            yield FromEvent(f"where live bytes are last near it (1/{parts})", last, order, _PLAIN)
    for seed in range(SHUFFLES):
        event = int(np.random.default_rng(seed).choice(near[NEAR[-1]]))
        yield FromEvent(f"event {event}", event, shuffled(seed), _ALL)


def best_possible(
    trace: Trace | Timetable,
    progress: Callable[[float], None] = lambda _: None,
    *,
    placer: type[Placer] = Placer,
) -> Placement:
    """Return the lowest placement of a trace that is found for one who knows all of it.

    Objects do not move, and every address can be used. A realloc frees, then allocates. `progress`
    is called with the share of the search that was done since its last call. Ctrl-C ends the search
    with the best so far; before there is one it raises `KeyboardInterrupt`. `placer` is what
    places: in C, or `simalloc.bound.reference.ReferencePlacer`.
    """
    table = trace if isinstance(trace, Timetable) else Timetable.of(trace)
    if not len(table):
        nothing = np.empty(0, np.int64)
        return Placement(table, nothing, verify(table, nothing), how="there is nothing to place")
    search = _Search(table, placer(table), progress)
    layout = search.go()
    return Placement(
        table,
        layout.address,
        verify(table, layout.address),
        how=search.how,
        tries=search.tries,
        stopped=search.stopped,
    )


class _Search:
    """One search under way."""

    def __init__(self, table: Timetable, placer: Placer, progress: Callable[[float], None]) -> None:
        self.how = ""
        self.tries = 0
        self.stopped = False
        self._table = table
        self._progress = progress
        self._placer = placer
        self._told = 0.0

    def go(self) -> Layout:
        """Try until the bound is reached or there has been enough of it."""
        best: Layout | None = None
        try:
            for one in tries(self._table):
                found = self._try(one, np.iinfo(np.int64).max if best is None else best.height)
                if found is not None:
                    best = found
                    self.how = one.words(found)
                if best is not None and (best.height <= self._table.peak or self._is_enough()):
                    break
        except KeyboardInterrupt:
            if best is None:
                raise
            self.stopped = True
        self._progress(1 - self._told)
        assert best is not None, "the first try has no limit"
        return best

    def _try(self, one: Try, limit: int) -> Layout | None:
        self.tries += 1
        found = one.place(self._placer, self._table, limit)
        done = min(1.0, self._placer.events_gone_through / self._budget())
        self._progress(done - self._told)
        self._told = done
        return found

    def _budget(self) -> int:
        return max(PASSES * self._table.events, EVENTS)

    def _is_enough(self) -> bool:
        return self._placer.events_gone_through >= self._budget()
