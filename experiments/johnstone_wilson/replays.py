"""All simulations of the experiment, run on all cores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import groupby

from experiments.johnstone_wilson.alterations import Alteration
from simalloc.heap import Realloc, Run, simulate
from simalloc.machine import core_count
from simalloc.measure import fragmentation
from simalloc.trace import Trace


@dataclass(frozen=True)
class Job:
    """One simulation: a program's trace, perhaps altered, under the policy that a text names.

    `upto` is the number of the trace's events to replay, or None for all.
    """

    program: str
    policy: str
    realloc: Realloc = Realloc.FREE_FIRST
    alteration: Alteration | None = None
    upto: int | None = None


class _StoppedError(Exception):
    """Stops a simulation after another simulation failed or the user interrupted the run."""


def percent(run: Run, measure: int) -> float:
    """Return measure #1, #2, #3 or #4 in percent."""
    return 100 * fragmentation(run)[measure]


def replay_all(
    jobs: Iterable[Job], traces: Mapping[str, Trace], advance: Callable[[float], None]
) -> dict[Job, Run]:
    """Run every job once and return the runs.

    `traces` maps a program's name to its trace. `advance` is called from any thread with the number
    of events completed since its last call. The first error or Ctrl-C stops all simulations and is
    raised.
    """
    stop = threading.Event()
    runs: dict[Job, Run] = {}
    batches = sorted(_batches(set(jobs)), key=lambda batch: -_events([*batch], traces))
    pool = ThreadPoolExecutor(core_count())
    try:
        waiting = [pool.submit(_replay, batch, traces, advance, stop) for batch in batches]
        for done in as_completed(waiting):
            runs.update(done.result())
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
    return runs


def total_events(jobs: Iterable[Job], traces: Mapping[str, Trace]) -> int:
    """Return the number of events that `replay_all` replays."""
    return _events(list(set(jobs)), traces)


def _batches(jobs: set[Job]) -> list[list[Job]]:
    """Group the jobs so that each altered trace is made once; unaltered jobs are single."""
    altered = sorted((job for job in jobs if _is_altered(job)), key=_source)
    groups = [list(group) for _, group in groupby(altered, key=_source)]
    return groups + [[job] for job in jobs if not _is_altered(job)]


def _is_altered(job: Job) -> bool:
    return job.alteration is not None or job.upto is not None


def _source(job: Job) -> tuple[str, str]:
    return job.program, repr((job.alteration, job.upto))


def _events(jobs: Sequence[Job], traces: Mapping[str, Trace]) -> int:
    return sum(job.upto or len(traces[job.program]) for job in jobs)


def _replay(
    jobs: Sequence[Job],
    traces: Mapping[str, Trace],
    advance: Callable[[float], None],
    stop: threading.Event,
) -> dict[Job, Run]:
    """Run jobs that share one trace."""
    trace = traces[jobs[0].program]
    if jobs[0].upto is not None:
        trace = trace.prefix(jobs[0].upto)
    if jobs[0].alteration is not None:
        trace = jobs[0].alteration(trace)

    def progress(events: int) -> None:
        if stop.is_set():
            raise _StoppedError
        advance(events)

    return {
        job: simulate(trace, job.policy, realloc=job.realloc, progress=progress) for job in jobs
    }
