"""Execution of the runs of a plan that are missing from the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path

from simalloc.errors import PlanError, SimallocError
from simalloc.machine import core_count, memory_bytes
from simalloc.sweep.claims import Claims
from simalloc.sweep.local import check_memory, run_locally
from simalloc.sweep.observer import Observer
from simalloc.sweep.plan import Plan
from simalloc.sweep.shard import Shard
from simalloc.sweep.store import Store
from simalloc.sweep.task import Outcome, Task

Executor = Callable[[Sequence[Task], Callable[[Task], bool], Observer], Generator[list[Outcome]]]


@dataclass(frozen=True)
class Summary:
    """Result of a sweep: numbers of runs, in total and by outcome.

    `present` runs were already in the results, `done` runs were carried out by this sweep, and
    `left` runs were done or claimed by another sweep. `failed` runs are in the results with an
    error.
    """

    asked: int
    present: int
    done: int
    failed: int
    left: int
    seconds: float


def carry_out_plan(
    plan: Plan,
    results: str | PathLike[str],
    *,
    jobs: int | None = None,
    memory: int | None = None,
    dask: str | None = None,
    shard: Shard | None = None,
    retry_failed: bool = False,
    observer: Observer | None = None,
) -> Summary:
    """Carry out the runs of a plan that the file `results` lacks, and write them to the file.

    The runs are carried out by `jobs` threads (default: one per core) with at most `memory` bytes
    of traces (default: three quarters of the machine's memory), or on the Dask cluster whose
    scheduler is at `dask`. `shard` limits the sweep to a share. Failed runs are repeated only if
    `retry_failed`. Raises `SimallocError`, before the file is created, if a trace needs more
    memory.
    """
    started = time.monotonic()
    tasks = plan.tasks() if shard is None else shard.of(plan.tasks())
    threads = core_count() if jobs is None else _checked_jobs(jobs)
    budget = memory_bytes() * 3 // 4 if memory is None else memory
    executor = _executor(threads, budget, dask)
    if dask is None and not Path(results).exists():
        check_memory(tasks, jobs=threads, memory=budget)
    reports = observer or Observer()
    done = 0
    with ExitStack() as stack:
        store = stack.enter_context(Store(results, create=True))
        claims = stack.enter_context(Claims(results))

        def claim(task: Task) -> bool:
            if claims.take(task.key) and not store.is_done(task, retry_failed=retry_failed):
                return True
            reports.left(task)
            return False

        missing = store.missing(tasks, retry_failed=retry_failed)
        reports.begin(missing)
        for outcomes in stack.enter_context(closing(executor(missing, claim, reports))):
            store.add(outcomes)
            for outcome in outcomes:
                claims.release(outcome.key)
                reports.finished(outcome)
            done += len(outcomes)
        failed = store.failed(tasks)
    return Summary(
        asked=len(tasks),
        present=len(tasks) - len(missing),
        done=done,
        failed=failed,
        left=len(missing) - done,
        seconds=time.monotonic() - started,
    )


def _checked_jobs(jobs: int) -> int:
    if type(jobs) is not int or jobs < 1:
        raise PlanError(f"jobs is {jobs!r}; use whole numbers from 1")
    return jobs


def _executor(jobs: int, memory: int, dask: str | None) -> Executor:
    if dask is not None:
        try:
            from simalloc.sweep.cluster import run_on_cluster  # noqa: PLC0415 - needs an extra
        except ImportError as error:
            raise SimallocError(
                f"a sweep on a cluster needs Dask: pip install 'simalloc[distributed]' ({error})"
            ) from error
        return partial(run_on_cluster, address=dask)
    return partial(run_locally, jobs=jobs, memory=memory)
