"""All that is measured for the page: sixteen policies on every program, and the cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from experiments.johnstone_wilson.replays import Job, percent, replay_all, total_events
from experiments.todays_programs import cases
from experiments.todays_programs.programs import PROGRAMS, ROWS
from simalloc.trace.catalogue import load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from experiments.mallocs import Progress
    from simalloc.heap import Run
    from simalloc.trace import Trace

JOBS: Final = frozenset(
    (*(Job(program, policy) for program in PROGRAMS for policy in ROWS), *cases.JOBS)
)


@dataclass(frozen=True)
class Results:
    """What has been measured: the traces of the cases, and every simulation."""

    traces: Mapping[str, Trace]
    runs: Mapping[Job, Run]

    def waste(self, program: str, policy: str) -> float:
        """Return the peak heap above the peak of live bytes, in percent (measure #4)."""
        return percent(self.runs[Job(program, policy)], 4)


def measure(progress: Progress) -> Results:
    """Carry out every simulation, a program at a time so that one trace is in memory.

    `progress` opens a progress bar for a label and a number of events (`simalloc.cli.progress`).
    """
    runs: dict[Job, Run] = {}
    kept = {case.program for case in cases.CASES}
    traces: dict[str, Trace] = {}
    for number, program in enumerate(PROGRAMS, start=1):
        trace = {program: load(program)}
        jobs = [job for job in JOBS if job.program == program]
        label = f"{program} ({number} of {len(PROGRAMS)})"
        with progress(label, total_events(jobs, trace)) as advance:
            runs |= replay_all(jobs, trace, advance)
        if program in kept:
            traces |= trace
    return Results(traces, runs)
