"""Memory of glibc's malloc in the arenas of threads, and in idle arenas."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import Run
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay, strides
from simalloc.heap.watch.each_event import Watched
from simalloc.trace import EventSource
from simalloc.trace.events import Op, allocates

_LAST: Final = 0.1
"""Last share of the events. An arena without a request in it is idle."""


@dataclass(frozen=True)
class ThreadArenas:
    """All arenas except the main one; bytes are resident but not live."""

    arenas: int
    bytes: int
    idle: int
    """Number of arenas without a recent request, whose threads have ended or wait."""
    idle_bytes: int


def thread_arenas(
    source: EventSource,
    run: Run,
    event: int,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> ThreadArenas:
    """Replay a trace up to an event as in a ptmalloc run, and examine the threads' arenas.

    `progress` is called with the number of events done since its last call.
    """
    arena, size = np.full(source.slots, -1), np.zeros(source.slots, np.int64)
    recent: set[int] = set()
    done = 0
    start = run.options.start
    # The first replay finds the arena of each object. A second one measures the resident bytes,
    # because measuring them after each event is slow.
    with closing(Watched(Setting.of(source, run.policy, start=start)).seen()) as seen:
        while done <= event:
            events, sight = next(seen)
            events, region = events.part(0, event + 1 - done), sight.region[: event + 1 - done]
            asks = allocates(events.op)
            moves = asks | (events.op == Op.FREE)
            arena[events.slot[moves]] = region[moves]  # keeps a slot's last event
            size[events.slot[moves]] = np.where(asks, events.size, 0)[moves]
            late = max(0, int((1 - _LAST) * event) - done)
            recent.update(np.unique(region[late:][asks[late:]]).tolist())
            done += len(sight.region)
            progress(len(events.op))
    resident = _resident(Setting.of(source, run.policy, resident=True, start=start), event)
    count = len(resident)
    held = arena >= 0
    live = np.bincount(arena[held], size[held], count).astype(np.int64)
    unused = np.maximum(resident - live, 0)  # live bytes need not be resident
    is_idle = ~np.isin(np.arange(count), list(recent))
    is_idle[:1] = False
    return ThreadArenas(
        max(0, count - 1), int(unused[1:].sum()), int(is_idle.sum()), int(unused[is_idle].sum())
    )


def _resident(setting: Setting, event: int) -> NDArray[np.int64]:
    """Return the resident bytes of each arena after an event."""
    simulation = setting.simulation()
    left = event + 1
    with closing(strides(setting.source, setting.columns)) as parts:
        while left > 0:
            left -= replay(simulation, next(parts).part(0, left))
    figures = dict(zip(simulation.figure_names(), simulation.report(), strict=True))
    return np.array(
        [figures[f"resident.{number}"] for number in range(figures["arenas"])], np.int64
    )
