"""Execution of tasks on a Dask cluster; needs the `distributed` extra.

A worker receives batches of runs of one trace. A batch takes seconds, so that a thousand cores do
not overload the scheduler (docs/sweeps.md). If a worker is lost, its batch is repeated elsewhere.
If the batch kills further workers, its runs are sent one by one. A run that kills its workers
becomes a row with this error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import dask
from distributed import Client, KilledWorker, as_completed
from distributed.comm.addressing import get_address_host_port, normalize_address

from simalloc.errors import SimallocError, TraceError
from simalloc.sweep.board import grouped
from simalloc.sweep.observer import Observer
from simalloc.sweep.task import Outcome, Task, failure
from simalloc.sweep.worker import carry_out_batch
from simalloc.version import code_version

if TYPE_CHECKING:
    from distributed import Future

    from simalloc.sweep.source import Source

BATCH_EVENTS: Final = 50_000_000
"""Number of events that a batch replays, which takes a second or two."""
BATCH_EVENTS_A_THREAD: Final = 300_000
"""Events of a batch per thread of a large cluster, which returns about 100 batches per second."""
BATCH_RUNS: Final = 500
BATCHES_A_THREAD: Final = 3
"""Number of running and waiting batches for each thread of the cluster."""
INTERVAL: Final = 5.0
"""Minimum seconds between two counts of the workers."""
PATIENCE: Final = 30
"""Maximum seconds to wait for the scheduler, and for its first worker."""


def run_on_cluster(
    tasks: Sequence[Task],
    claim: Callable[[Task], bool],
    observer: Observer,
    *,
    address: str,
) -> Generator[list[Outcome]]:
    """Yield the outcomes of the tasks as they arrive from the workers of a scheduler.

    `address` is the address of the scheduler. `claim` is called just before a task is sent, and
    returns whether this sweep should run the task. A worker reads a trace from its path if the path
    is valid there. Otherwise the scheduler sends the trace.
    """
    if tasks:
        with _connect(address) as client:
            yield from _Dispatch(client, claim, observer).outcomes(tasks)


class _Dispatch:
    """Sends batches to a cluster and receives their outcomes."""

    def __init__(self, client: Client, claim: Callable[[Task], bool], observer: Observer) -> None:
        self._client = client
        self._claim = claim
        self._observer = observer
        self._under_way: dict[Future[Any], Sequence[Task]] = {}
        self._returned = as_completed(with_results=True, raise_errors=False, loop=client.loop)
        self._packed: dict[str, Future[bytes]] = {}
        self._threads = _Threads(client)

    def outcomes(self, tasks: Sequence[Task]) -> Generator[list[Outcome]]:
        """Yield the outcomes of the tasks, several batches at a time if several have arrived."""
        batches = _batches(tasks, self._threads.count())
        try:
            self._fill(batches)
            for returned in self._returned.batches():
                ended = [
                    outcome for future, result in returned for outcome in self._take(future, result)
                ]
                if ended:
                    yield ended
                self._fill(batches)
        finally:
            self._client.cancel(list(self._under_way))

    def _fill(self, batches: Iterator[Sequence[Task]]) -> None:
        """Send batches until enough of them are running or waiting."""
        while len(self._under_way) < BATCHES_A_THREAD * self._threads.count():
            batch = next(batches, None)
            if batch is None:
                return
            claimed = [task for task in batch if self._claim(task)]
            if claimed:
                self._send(claimed)

    def _send(self, batch: Sequence[Task]) -> None:
        packed = self._packed.get(batch[0].source.sha256)
        future = self._client.submit(carry_out_batch, batch, code_version(), packed, pure=False)
        self._under_way[future] = batch
        self._returned.add(future)

    def _take(self, future: Future[Any], result: Any) -> list[Outcome]:
        """Return the outcomes of a returned batch, or send its tasks again in another way.

        The result alone decides: a value, an error with its type and traceback, or a cancellation.
        The future's state may have changed meanwhile, for example if its worker was lost.
        """
        batch = self._under_way.pop(future)
        if isinstance(result, CancelledError):
            raise SimallocError(
                "the cluster's scheduler has ended; the finished runs are stored in the file. "
                "When a scheduler runs again, repeat the same command to finish the rest"
            )
        if not isinstance(result, tuple):
            return self._received(batch, result)
        _, error, _ = result
        if isinstance(error, KilledWorker) and len(batch) > 1:
            for task in batch:
                self._send([task])
            return []
        return [failure(task, error) for task in batch]

    def _received(self, batch: Sequence[Task], outcomes: list[Outcome] | None) -> list[Outcome]:
        if outcomes is not None:
            self._observer.advanced(sum(task.source.events for task in batch))
            return outcomes
        source = batch[0].source
        try:
            if source.sha256 not in self._packed:
                self._packed[source.sha256] = self._share(source)
        except (OSError, TraceError) as error:
            return [failure(task, error) for task in batch]
        self._send(batch)
        return []

    def _share(self, source: Source) -> Future[bytes]:
        """Make the scheduler store the bytes of a trace and send them to workers that need them.

        The bytes are the argument of a task, so that they survive the loss of any worker.
        """
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            key = f"simalloc-trace-{source.sha256}"
            return self._client.submit(bytes, source.pack(), key=key)


class _Threads:
    """Counts the threads of the workers of a cluster, at most once per `INTERVAL`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asked = -INTERVAL
        self._count = 1

    def count(self) -> int:
        """Return the number of threads, at least 1."""
        now = time.monotonic()
        if now - self._asked > INTERVAL:
            self._asked = now
            self._count = max(1, sum(self._client.nthreads().values()))
        return self._count


def _batches(tasks: Sequence[Task], threads: int) -> Iterator[Sequence[Task]]:
    """Divide tasks into batches of one trace, small enough to occupy all threads."""
    events = sum(task.source.events for task in tasks)
    largest = max(BATCH_EVENTS, threads * BATCH_EVENTS_A_THREAD)
    limit = min(largest, events // (BATCHES_A_THREAD * threads))
    for group in grouped(tasks):
        runs = max(1, min(BATCH_RUNS, limit // max(1, group.source.events)))
        for start in range(0, len(group.waiting), runs):
            yield group.waiting[start : start + runs]


@contextmanager
def _connect(address: str) -> Iterator[Client]:
    """Connect to a scheduler, and check that its workers have the same version of the code."""
    try:
        get_address_host_port(
            normalize_address(address)
        )  # a Client would wait if the address is wrong
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise SimallocError(f"cannot reach a Dask scheduler at {address}: {error}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise SimallocError(f"the scheduler at {address} has no workers") from None
        for worker, answer in client.run(_version_here, on_error="return").items():
            if answer != code_version():
                raise SimallocError(
                    f"worker {worker} does not run simalloc {code_version()}; it reports: {answer}"
                )
        yield client


def _version_here() -> str:
    return code_version()
