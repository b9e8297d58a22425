"""How much of what glibc's malloc holds lies in the arenas of threads, and of idle ones."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.heap.setting import Setting
from simalloc.heap.sight import Watched
from simalloc.measure.settings.arenas import entered
from simalloc.trace.events import allocates

if TYPE_CHECKING:
    from collections.abc import Callable

    from simalloc.policy import Policy
    from simalloc.trace import Trace

_LAST: Final = 0.1
"""An arena is idle if it has served no request among this share of the events, the last ones."""


@dataclass(frozen=True)
class ThreadArenas:
    """The arenas but the main one; bytes are those that are resident and not live."""

    arenas: int
    bytes: int
    idle: int
    """How many of the arenas have long served no request: their threads have ended, or wait."""
    idle_bytes: int


def thread_arenas(
    trace: Trace,
    policy: Policy,
    event: int,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> ThreadArenas:
    """Replay a trace up to an event under a policy of the family ptmalloc and look at its arenas.

    `progress` is called with the number of events done since its last call.
    """
    watched = Watched(Setting.of(trace, policy, None, None, resident=True))
    arena = np.full(len(trace), -1)
    done = 0
    with closing(watched.sights()) as sights:
        while done <= event:
            sight = next(sights)
            arena[done : done + len(sight.region)] = sight.region
            figures = sight.figures[min(event - done, len(sight.region) - 1)]
            done += len(sight.region)
            progress(len(sight.region))
    told = dict(zip(watched.names, figures.tolist(), strict=True))
    count = told["arenas"]
    resident = np.array([told[f"resident.{number}"] for number in range(count)])
    last = entered(trace, event)
    last = last[arena[last] >= 0]
    unused = resident - np.bincount(arena[last], trace.size[last], count).astype(np.int64)
    recent = np.arange(int((1 - _LAST) * event), event + 1)
    is_idle = ~np.isin(np.arange(count), arena[recent[allocates(trace.op[recent])]])
    is_idle[:1] = False
    return ThreadArenas(
        max(0, count - 1), int(unused[1:].sum()), int(is_idle.sum()), int(unused[is_idle].sum())
    )
