"""All the simulations of the experiment, carried out on every core."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from multiprocessing import get_context

from experiments.johnstone_wilson.alterations import Alteration
from simalloc.heap import Realloc, Run, simulate
from simalloc.machine import core_count
from simalloc.measure import fragmentation
from simalloc.trace import Trace, catalogue


@dataclass(frozen=True)
class Job:
    """One simulation: a program's trace, perhaps altered, under the policy that a text names.

    `upto` is how many of the trace's events are replayed; None is all.
    """

    program: str
    policy: str
    realloc: Realloc = Realloc.FREE_FIRST
    alteration: Alteration | None = None
    upto: int | None = None


class _StoppedError(Exception):
    """Another simulation failed or the user gave up."""


def percent(run: Run, measure: int) -> float:
    """Return measure #1, #2, #3 or #4 in percent."""
    return 100 * fragmentation(run)[measure]


def replay_all(
    jobs: Iterable[Job], traces: Mapping[str, Trace], advance: Callable[[float], None]
) -> dict[Job, Run]:
    """Carry out every job once and return the runs.

    `traces` has a program's trace by its name; `advance` is called from any thread with the number
    of events done since its last call. The first error, or Ctrl-C, stops all simulations and is
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


def replay_apart(jobs: Iterable[Job], advance: Callable[[float], None]) -> dict[Job, Run]:
    """Carry out jobs whose policies are in Python, in a process for each core.

    They hold the interpreter while they run, so threads would take turns. `advance` is called with
    a job's events when it is done. The first error, or Ctrl-C, is raised; no further job starts.
    """
    runs: dict[Job, Run] = {}
    pool = ProcessPoolExecutor(core_count(), mp_context=get_context("spawn"), initializer=_ignore)
    try:
        waiting = {pool.submit(_replay_catalogued, job): job for job in sorted(jobs, key=_source)}
        for done in as_completed(waiting):
            runs[waiting[done]] = done.result()
            advance(done.result().events)
    finally:
        pool.shutdown(cancel_futures=True)
    return runs


def _ignore() -> None:
    """Leave Ctrl-C to the process that hands out the jobs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _replay_catalogued(job: Job) -> Run:
    return _replay([job], {job.program: _load(job.program)}, _nothing, threading.Event())[job]


def _nothing(_: float) -> None:
    """Tell nobody."""


_load = cache(catalogue.load)


def total_events(jobs: Iterable[Job], traces: Mapping[str, Trace]) -> int:
    """Return the events that `replay_all` goes through."""
    return _events(list(set(jobs)), traces)


def _batches(jobs: set[Job]) -> list[list[Job]]:
    """Group the jobs so that an altered trace is made once; unaltered ones stand alone."""
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
    """Carry out jobs on one and the same trace."""
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
