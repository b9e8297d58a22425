"""The CPU time of a setting, estimated from its model's system calls and page faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from simalloc.advice.prices import Prices
from simalloc.heap import Run
from simalloc.trace import EventSource

DEFAULT_BUDGET: Final = 0.05
"""Default maximum cost of a recommended setting, as a share of the program's CPU time."""

UNCERTAINTY: Final = 2.0
"""Maximum ratio of the real cost to the estimate.

Costs exceed the prices if memory moves, if other threads lock the memory map, or if data leave the
processor's caches. `python -m experiments.advice.servers.costs` compares estimates with measured
costs.
"""

_IDLE: Final = 1_000_000
"""Minimum pause in nanoseconds between two events during which the program is taken to wait."""


@dataclass(frozen=True)
class Cost:
    """Cost of a run relative to the present setting, in CPU time; negative for a saving.

    `seconds` is the estimate and `max_seconds` its upper limit. `of_seconds` is the program's CPU
    time, or None if unknown. `uncached` is the number of requests that bypass the thread cache.
    """

    faults: int
    system_calls: int
    seconds: float
    max_seconds: float
    of_seconds: float | None
    uncached: int = 0

    @property
    def share(self) -> float | None:
        """The estimate as a share of the program's CPU time, or None if that time is unknown."""
        return self.seconds / self.of_seconds if self.of_seconds else None

    @property
    def max_share(self) -> float | None:
        """The upper limit as a share of the program's CPU time, or None if that time is unknown."""
        return self.max_seconds / self.of_seconds if self.of_seconds else None

    def exceeds(self, budget: float) -> bool:
        """Return whether the upper limit is known to exceed this share of the CPU time."""
        return self.max_share is not None and self.max_share > budget


def cost_of(run: Run, now: Run, prices: Prices, cpu_seconds: float | None) -> Cost:
    """Return the cost of a run relative to the present setting."""
    if run.costs is None or now.costs is None:
        return Cost(0, 0, 0.0, 0.0, None)
    faults = run.costs.faults - now.costs.faults
    calls = run.costs.system_calls - now.costs.system_calls
    uncached = _past_cache(run) - _past_cache(now)
    parts = (faults * prices.page, calls * prices.mapping, uncached * prices.request)
    most = sum(UNCERTAINTY * part if part > 0 else part for part in parts)
    return Cost(faults, calls, sum(parts), most, cpu_seconds or None, uncached)


def _past_cache(run: Run) -> int:
    """Return the number of requests if the thread cache is disabled, else 0."""
    given = run.policy.parameters
    is_off = (
        given.get("tcache_count") == 0
        or given.get("tcache") is False
        or ("tcache_max" in given and "narenas" in given and given["tcache_max"] == 0)
    )
    return run.events if is_off else 0


def cpu_seconds_of(source: EventSource, most: int) -> float | None:
    """Return the CPU seconds of a trace's program, or None if unknown.

    The value in the provenance has precedence. Otherwise the time between events is summed up
    without pauses, for a trace with times and at most `most` events.
    """
    recorded = source.provenance.get("cpu_seconds")
    if isinstance(recorded, (int, float)) and recorded > 0:
        return float(recorded)
    if len(source) > most:
        return None
    time = source.in_memory().time
    if time is None:
        return None
    busy = float(np.minimum(np.diff(time), _IDLE).sum()) / 1e9
    return busy if busy > 0 else None
