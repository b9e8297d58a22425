"""All measurements of the experiment, made once for all its tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.johnstone_wilson import (
    figure,
    findings,
    fragmentation,
    pinned,
    sensitivity,
    statistics,
)
from experiments.johnstone_wilson.fragmentation import Runs
from experiments.johnstone_wilson.programs import load_traces
from experiments.johnstone_wilson.replays import replay_all, total_events
from experiments.johnstone_wilson.statistics import Described
from experiments.mallocs import Progress
from simalloc.trace import Trace

JOBS = frozenset(
    (
        *fragmentation.JOBS,
        *sensitivity.JOBS,
        *pinned.JOBS,
        *findings.JOBS,
        figure.JOB,
    )
)


@dataclass(frozen=True)
class Results:
    """All measurements: the traces, their statistics, and every simulation."""

    traces: Mapping[str, Trace]
    described: Described
    runs: Runs


def measure(progress: Progress) -> Results:
    """Load the traces, compute their statistics and run every simulation.

    `progress` opens a progress bar for a label and a number of events (`simalloc.cli.progress`).
    """
    traces = load_traces()
    with progress("Simulating", total_events(JOBS, traces)) as advance:
        runs = replay_all(JOBS, traces, advance)
    return Results(traces, statistics.describe_all(traces), runs)
