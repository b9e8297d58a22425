"""Estimate of the duration of a sweep, from replays of the beginnings of its traces."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from simalloc.errors import TraceError
from simalloc.sweep.board import Group, grouped
from simalloc.sweep.task import Task, carry_out

PREFIX: Final = 1 << 21
"""Number of events of a trace that are replayed for an estimate."""
SECONDS: Final = 5.0
"""Approximate duration of the measurement in seconds."""
_SEED: Final = 0


@dataclass(frozen=True)
class Estimate:
    """Estimated work of a sweep on one core.

    `measured` is the number of replays on which the estimate is based.
    """

    runs: int
    events: int
    seconds: float
    measured: int


def estimate(tasks: Sequence[Task], seconds: float = SECONDS) -> Estimate:
    """Measure a random sample of the runs for `seconds` seconds, and extrapolate to the others.

    A policy outside the sample is assumed to have the mean speed of the sample. Only the beginnings
    of traces are measured, so traces whose heaps grow take longer than estimated.
    """
    speeds: dict[str, list[float]] = defaultdict(list)
    loading: list[float] = []
    deadline = time.perf_counter() + seconds
    groups = grouped(tasks)
    draw = random.Random(_SEED)  # noqa: S311 - a sample, not a secret
    draw.shuffle(groups)
    for group in groups:
        if time.perf_counter() > deadline:
            break
        _measure(group, draw, min(deadline, time.perf_counter() + seconds / 4), speeds, loading)
    events = sum(task.source.events for task in tasks)
    every = [speed for measured in speeds.values() for speed in measured]
    mean = fmean(every) if every else 0.0
    replaying = sum(
        task.source.events * (fmean(speeds[policy]) if speeds[policy] else mean)
        for task in tasks
        for policy in [task.key.policy]
    )
    reading = sum(group.source.events for group in groups) * (fmean(loading) if loading else 0.0)
    return Estimate(len(tasks), events, replaying + reading, len(every))


def _measure(
    group: Group,
    draw: random.Random,
    deadline: float,
    speeds: dict[str, list[float]],
    loading: list[float],
) -> None:
    """Add the seconds per event of loading a trace and of replaying it under its policies."""
    if not group.source.events:
        return
    started = time.perf_counter()
    try:
        beginning = group.source.streamed().load().prefix(PREFIX)
    except (OSError, TraceError):
        return
    loading.append((time.perf_counter() - started) / len(beginning))
    for task in draw.sample(group.waiting, len(group.waiting)):
        outcome = carry_out(task, beginning)
        if not outcome.failed:
            speeds[task.key.policy].append(outcome.row["seconds"] / len(beginning))
        if time.perf_counter() > deadline:
            break
