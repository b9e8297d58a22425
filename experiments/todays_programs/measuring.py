"""All measurements of the page: sixteen policies on every program, and the cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from experiments.johnstone_wilson.replays import Job, percent, replay_all, total_events
from experiments.mallocs import Progress
from experiments.todays_programs import cases
from experiments.todays_programs.programs import PROGRAMS, ROWS
from simalloc.heap import Run
from simalloc.trace import Trace
from simalloc.trace.catalogue import load

JOBS: Final = frozenset(
    (*(Job(program, policy) for program in PROGRAMS for policy in ROWS), *cases.JOBS)
)
_NOTHING: Final[Mapping[Job, float]] = {}


@dataclass(frozen=True)
class Results:
    """All measurements: the traces of the cases, and every simulation.

    `known` contains the waste of simulations that are not in `runs`.
    """

    traces: Mapping[str, Trace]
    runs: Mapping[Job, Run]
    known: Mapping[Job, float]

    def waste(self, program: str, policy: str) -> float:
        """Return the excess of the peak heap over the peak live bytes, in percent (measure #4)."""
        job = Job(program, policy)
        return self.known[job] if job in self.known else percent(self.runs[job], 4)


def measure(progress: Progress, known: Mapping[Job, float] = _NOTHING) -> Results:
    """Run every simulation, one program at a time so that only one trace is in memory.

    Simulations whose waste is `known` are omitted, except the cases' simulations. `progress` opens
    a progress bar for a label and a number of events (`simalloc.cli.progress`).
    """
    runs: dict[Job, Run] = {}
    kept = {case.program for case in cases.CASES}
    traces: dict[str, Trace] = {}
    left_out = set(known) - set(cases.JOBS)
    for number, program in enumerate(PROGRAMS, start=1):
        trace = {program: load(program)}
        jobs = [job for job in JOBS if job.program == program and job not in left_out]
        label = f"{program} ({number} of {len(PROGRAMS)})"
        with progress(label, total_events(jobs, trace)) as advance:
            runs |= replay_all(jobs, trace, advance)
        if program in kept:
            traces |= trace
    return Results(traces, runs, known)
