"""The smallest pool, the larger sizes that fail, and the safe size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from simalloc.bound import Timetable
from simalloc.errors import SimallocError
from simalloc.heap import Run
from simalloc.heap.running.event_by_event import run_one
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay_all
from simalloc.policy import Policy
from simalloc.pool.search import Sizes, find_sizes
from simalloc.pool.trial import PoolTrial
from simalloc.trace import Trace

LARGEST: Final = 64
"""Pools are searched up to this multiple of the peak of live bytes."""
MAX_LIVE: Final = (1 << 40) // LARGEST
"""Maximum peak of live bytes: `LARGEST` times as many bytes is the maximum of `capacity`."""
_ROOMY: Final = 1 << 24


@dataclass(frozen=True)
class Answer:
    """The pools that serve some traces under one policy; all sizes are bytes.

    `sizes` contains the smallest pool and the larger ones that fail, or None if no pool up to
    `searched_to` serves every request. `high_water` is the highest end of a block in an ample pool,
    and `high_water_works` is true if a pool of that size serves every request. The last two figures
    are for a pool of the safe size, or None without such a pool. `largest_free` is the minimum over
    time of the largest free block. `steps` is the number of blocks or lists that the longest search
    visits.
    """

    traces: tuple[str, ...]
    policy: Policy
    sizes: Sizes | None
    searched_to: int
    peak_live: int
    lower_bound: int
    high_water: int
    high_water_works: bool
    largest_free: int | None
    steps: int | None

    @property
    def trace(self) -> str:
        """Names of the traces, separated by commas."""
        return ", ".join(self.traces)


def answer(
    traces: Sequence[Trace], policy: Policy, advance: Callable[[float], None] = lambda _: None
) -> Answer:
    """Return the pools that serve some traces under one policy.

    `advance` is called with the share of the work done since its last call.

    Raises
    ------
    PolicyError
        If the policy has no `capacity`.
    SimallocError
        If the peak of live bytes exceeds `MAX_LIVE`.
    """
    trial = PoolTrial.of(policy, traces)
    if trial.peak_live > MAX_LIVE:
        names = ", ".join(trace.name for trace in traces)
        raise SimallocError(
            f"{names}: {trial.peak_live:,} bytes are live at the peak; pools are searched for "
            f"up to {MAX_LIVE >> 30} GiB of live bytes"
        )
    most = max(LARGEST * max(trial.low, trial.peak_live), 1 << 16)
    high_water = _high_water(trial)
    sizes = find_sizes(
        trial,
        trial.first_size,
        most,
        lambda share: advance(0.95 * share),
        guess=trial.min_from(high_water),
    )
    safe = [] if sizes is None else _safe_runs(trial, sizes.safe)
    works = trial(high_water).refused == 0
    advance(0.05)
    return Answer(
        tuple(trace.name for trace in traces),
        trial.policy,
        sizes,
        most,
        peak_live=trial.peak_live,
        lower_bound=max((Timetable.of(trace).peak for trace in traces), default=0),
        high_water=high_water,
        high_water_works=works,
        largest_free=_min_largest_free(safe),
        steps=max((run.counters.visited_worst for run in safe), default=None),
    )


def curve(traces: Sequence[Trace], found: Answer, points: int = 48) -> tuple[list[int], list[int]]:
    """Return pool sizes, and the number of requests refused at each.

    The program continues after a refusal. The sizes range from the peak of live bytes to 1.1 times
    the safe size.
    """
    trial = PoolTrial.of(found.policy, traces)
    low = trial.low
    high = max(int(1.1 * found.sizes.safe), low + 1) if found.sizes else 2 * low
    sizes = sorted({round(low + (high - low) * at / (points - 1)) for at in range(points)})
    sizes = sorted({size // trial.grain * trial.grain for size in sizes})
    sizes = [size for size in sizes if size >= trial.min_capacity]
    return sizes, [
        sum(_refused(trace, trial.with_capacity(size)) for trace in traces) for size in sizes
    ]


def _refused(trace: Trace, policy: Policy) -> int:
    """Return the number of refused requests; the program continues after a refusal."""
    setting = Setting.of(trace, policy, on_refusal="go-on")
    simulation = setting.simulation()
    replay_all(simulation, setting)
    return int(simulation.figures()["refused"])


def _run(trace: Trace, policy: Policy, *, largest_free: bool = False) -> Run:
    return run_one(Setting.of(trace, policy, on_refusal="go-on", largest_free=largest_free))


def _high_water(trial: PoolTrial) -> int:
    """Return the high-water mark in an ample pool: 16 MiB, or 64 times the peak if that is more."""
    policy = trial.with_capacity(max(_ROOMY, LARGEST * trial.peak_live))
    return int(max((_run(trace, policy).peak_heap_bytes for trace in trial.traces), default=0))


def _min_largest_free(runs: Sequence[Run]) -> int | None:
    """Return the minimum over time and runs of the largest free block, in bytes."""
    measured = [run.largest_free for run in runs if run.largest_free is not None]
    return min((int(each.min_bytes) for each in measured), default=None)


def _safe_runs(trial: PoolTrial, capacity: int) -> list[Run]:
    policy = trial.with_capacity(capacity)
    return [_run(trace, policy, largest_free=True) for trace in trial.traces]
