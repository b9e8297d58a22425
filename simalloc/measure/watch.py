"""Several measures of a run from one replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from simalloc.heap import HeapObserver, HeapReplay, Run
from simalloc.trace import EventSource
from simalloc.trace.statistics import Ended, LifeReader


class StayWatcher(Protocol):
    """A receiver of all stays of a run as they end."""

    def see(self, stays: Ended) -> None:
        """Process the stays that ended since the last call.

        A realloc ends one stay and begins another. `mark` is the address in scaled bytes, and
        `marked` is the event since which the object has had this address.
        """


def watch(
    source: EventSource,
    run: Run,
    watchers: Sequence[StayWatcher] = (),
    observers: Sequence[HeapObserver] = (),
    *,
    events: int | None = None,
    pages: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Replay a run once for all measurements of its stays and its heap.

    Watchers receive the stays in the first `events` events, by default all events. `HeapReplay`
    documents `pages`. `progress` is called with the number of events done since its last call.
    Raises `SimallocError` if the run is not of the trace, or if an observer's event does not exist.
    """
    wanted = events if watchers else 0
    replay = HeapReplay(source, run, observers, events=wanted, pages=pages, progress=progress)
    if not watchers:
        replay.go()
        return
    for part in LifeReader(replay, "address"):
        for watcher in watchers:
            watcher.see(part.ended)
