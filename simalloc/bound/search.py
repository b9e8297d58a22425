"""The lowest offline placement found for a trace, and a proven lower bound.

Dynamic storage allocation with known lifetimes is NP-hard, and the peak of live bytes cannot always
be reached (Buchsbaum et al. 2003, "OPT versus LOAD in dynamic storage allocation"). On real
programs a short list of fast tries nearly always reaches it. If it does not and the trace has few
objects, an exact search follows. Random choices use fixed seeds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.exact import Buffers, Effort, minimise
from simalloc.bound.orders import FOREMOST
from simalloc.bound.placement import Placement
from simalloc.bound.placer import Layout, Placer
from simalloc.bound.spaced import Spaced
from simalloc.bound.timetable import Timetable
from simalloc.bound.tries import tries
from simalloc.bound.verify import verify
from simalloc.plural import counted
from simalloc.trace import Trace

PASSES: Final = 16
EVENTS: Final = 20_000_000
"""Tries end after `PASSES` times the trace's events or after `EVENTS` events, whichever is more."""

FEW: Final = 5_000
"""Maximum number of objects for the exact search."""

FEW_PAIRS: Final = 2_000_000
"""Maximum number of pairs of an object and a section of its lifetime for the exact search."""

HIGHEST: Final = 1 << 60
"""The exact search requires heights below this value, so that no sum of bytes overflows."""

DEFAULT_EFFORT: Final = Effort(seconds=10.0)


def best_possible(
    trace: Trace | Timetable,
    progress: Callable[[float], None] = lambda _: None,
    *,
    effort: Effort | None = None,
    capacity: int | None = None,
    placer: type[Placer] = Placer,
) -> Placement:
    """Return the lowest placement found with full knowledge of the trace.

    Objects do not move, and every address can be used. A realloc frees, then allocates. The exact
    search ends when the `effort` is spent, by default after 10 seconds; a given effort also limits
    the fast tries. With a `capacity` (bytes), the search ends as soon as a placement fits into it,
    or when it is proven that none can. `progress` is called with the share of the search done since
    its last call. Ctrl-C ends the search with the best placement so far, or raises
    `KeyboardInterrupt` before the first placement. `placer` is the C core, or
    `simalloc.bound.reference.ReferencePlacer`. Raises `SimallocError` if the objects need more
    memory than is permitted.
    """
    started = time.monotonic()
    table = trace if isinstance(trace, Timetable) else Timetable.of(trace)
    if not len(table):
        nothing = np.empty(0, np.int64)
        return Placement(table, nothing, verify(table, nothing), how="there is nothing to place")
    search = _Search(table, placer, progress, effort, capacity)
    address = search.go()
    return Placement(
        table,
        address,
        verify(table, address),
        how=search.how,
        tries=search.tries,
        stopped=search.stopped,
        lower=search.lower,
        seconds=time.monotonic() - started,
    )


class _Search:
    """A search in progress."""

    def __init__(
        self,
        table: Timetable,
        placer: type[Placer],
        progress: Callable[[float], None],
        effort: Effort | None,
        capacity: int | None,
    ) -> None:
        self.how = ""
        self.tries = 0
        self.stopped = False
        self.lower = table.peak
        self._started = time.monotonic()
        self._table = table
        self._progress = progress
        self._effort = effort
        self._capacity = capacity
        self._spaced = Spaced(table.whole)
        self._placer = placer(self._spaced.table)
        self._reported = 0.0

    def go(self) -> NDArray[np.int64]:
        """Search until the bound is reached or the effort is spent. Return the addresses."""
        buffers = self._few_buffers()
        if buffers is not None:
            self.lower = max(self.lower, buffers.bound())
        address = self._fast(few=buffers is not None)
        if buffers is not None and not self.stopped and not self._is_done(self._height(address)):
            address = self._exact(buffers, address)
        self._report(1.0)
        return address

    def _fast(self, *, few: bool) -> NDArray[np.int64]:
        """Run the fast tries; before an exact search, only the `FOREMOST` orders."""
        best: Layout | None = None
        height = 0
        try:
            for one in tries(self._spaced.table):
                self.tries += 1
                limit = np.iinfo(np.int64).max if best is None else best.height
                found = one.place(self._placer, self._spaced.table, limit)
                if found is not None:
                    best, self.how = found, one.words(found)
                    height = self._height(self._spaced.settled(found.address))
                self._report(min(1.0, self._placer.events_gone_through / self._budget()))
                enough = few and self.tries >= len(FOREMOST)
                if best is not None and (enough or self._is_done(height) or self._is_enough()):
                    break
        except KeyboardInterrupt:
            if best is None:
                raise
            self.stopped = True
        assert best is not None, "the first try has no limit"
        return self._spaced.settled(best.address)

    def _exact(self, buffers: Buffers, address: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lower the height of a placement by the exact search."""
        reported = self._reported
        found = minimise(
            buffers,
            address,
            lower=self.lower,
            target=self._capacity,
            effort=self._left(),
            progress=lambda spent: self._report(reported + (1 - reported) * spent),
            fit=self._placer.fit,
        )
        self.lower, self.stopped = found.lower, found.stopped
        self.tries += found.searches
        if buffers.height(found.address) < buffers.height(address):
            helped = " and OR-tools" if found.helped else ""
            self.how = f"exact, {counted(found.searches, 'search', 'searches')}{helped}"
        return found.address

    def _few_buffers(self) -> Buffers | None:
        """Return the lives as buffers for the exact search, or None if there are too many."""
        if len(self._table) > FEW or self._table.whole.peak >= HIGHEST:
            return None
        buffers = Buffers.of(self._table)
        return buffers if buffers.sections.load <= FEW_PAIRS else None

    def _left(self) -> Effort:
        effort = self._effort or DEFAULT_EFFORT
        spent = time.monotonic() - self._started
        return replace(effort, seconds=max(effort.seconds - spent, 1e-3))

    def _height(self, address: NDArray[np.int64]) -> int:
        return int((address + self._table.size).max())

    def _is_done(self, height: int) -> bool:
        """Return whether a placement of this height ends the search."""
        if self._capacity is not None and (height <= self._capacity or self.lower > self._capacity):
            return True
        return height <= self.lower

    def _is_enough(self) -> bool:
        spent = time.monotonic() - self._started
        late = self._effort is not None and spent >= self._effort.seconds
        return late or self._placer.events_gone_through >= self._budget()

    def _budget(self) -> int:
        return max(PASSES * self._table.events, EVENTS)

    def _report(self, done: float) -> None:
        self._progress(done - self._reported)
        self._reported = done
