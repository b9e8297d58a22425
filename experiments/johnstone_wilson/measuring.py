"""All that is measured for the experiment, once for everything that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.johnstone_wilson import (
    figure,
    findings,
    fragmentation,
    outliers,
    pinned,
    readings,
    sensitivity,
    statistics,
)
from experiments.johnstone_wilson.fragmentation import Runs
from experiments.johnstone_wilson.programs import load_traces
from experiments.johnstone_wilson.readings import ReadingRuns, outcomes
from experiments.johnstone_wilson.replays import replay_all, replay_apart, total_events
from experiments.johnstone_wilson.statistics import Described
from experiments.mallocs import Progress
from simalloc.trace import Trace

JOBS = frozenset(
    (
        *fragmentation.JOBS,
        *sensitivity.JOBS,
        *pinned.JOBS,
        *outliers.JOBS,
        *readings.JOBS,
        *findings.JOBS,
        figure.JOB,
    )
)


@dataclass(frozen=True)
class Results:
    """All measurements: the traces, their statistics, and every simulation.

    `read` has the results of the readings' simulations, both of those in `runs` and of those with
    policies in Python.
    """

    traces: Mapping[str, Trace]
    described: Described
    runs: Runs
    read: ReadingRuns


def measure(
    progress: Progress,
    read: ReadingRuns | None = None,
) -> Results:
    """Load the traces, describe them and run every simulation.

    `progress` opens a progress bar for a label and a number of events (`simalloc.cli.progress`).
    `read` has the results of the readings in Python, if they are known: they take most of the time.
    """
    traces = load_traces()
    with progress("Simulating", total_events(JOBS, traces)) as advance:
        runs = replay_all(JOBS, traces, advance)
    if read is None:
        with progress("Reading otherwise", total_events(readings.OWN_JOBS, traces)) as advance:
            read = outcomes(replay_apart(readings.OWN_JOBS, advance))
    catalogued = outcomes({job: runs[job] for job in readings.JOBS})
    return Results(traces, statistics.describe_all(traces), runs, catalogued | read)
