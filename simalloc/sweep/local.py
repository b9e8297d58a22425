"""Execution of tasks on the cores of this machine, in threads, since the core releases the GIL.

A policy in Python holds the GIL, so each thread has a process for runs of such policies.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread

from simalloc.sweep.board import Board, Group
from simalloc.sweep.observer import Observer
from simalloc.sweep.process import ReplayProcesses, Stopped
from simalloc.sweep.task import Outcome, Task, carry_out, failure
from simalloc.waiting import LOOK_SECONDS


def check_memory(tasks: Sequence[Task], *, jobs: int, memory: int) -> None:
    """Raise `SimallocError` if `run_locally` needs more than `memory` bytes for the tasks."""
    Board(tasks, workers=jobs, budget=memory)


def run_locally(
    tasks: Sequence[Task],
    claim: Callable[[Task], bool],
    observer: Observer,
    *,
    jobs: int,
    memory: int,
) -> Generator[list[Outcome]]:
    """Yield the outcomes of the tasks as they arrive, in groups if several have arrived.

    At most `jobs` threads work in parallel, and traces take at most `memory` bytes. `claim` is
    called just before a task begins, and returns whether this sweep should run the task. Closing
    the iterator stops the work within milliseconds.
    """
    board = Board(tasks, workers=jobs, budget=memory)
    ended: SimpleQueue[Outcome | BaseException | None] = SimpleQueue()
    stopped = Event()
    processes = ReplayProcesses(stopped)
    progress = _progress(observer, stopped)

    def work() -> None:
        try:
            while (dealt := board.take()) is not None:
                group, task = dealt
                outcome = _replay(group, task, processes, progress) if claim(task) else None
                board.done(group, outcome)
                if outcome is not None:
                    ended.put(outcome)
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            ended.put(error)
        finally:
            ended.put(None)

    threads = [Thread(target=work, name=f"sweep-{number}") for number in range(board.workers)]
    try:  # Ctrl-C is possible while a thread begins
        for thread in threads:
            thread.start()
        yield from _batches(ended, board.workers)
    finally:
        stopped.set()
        board.stop()
        processes.kill()
        for thread in threads:
            if thread.is_alive():
                thread.join()
        processes.close()


def _batches(
    ended: SimpleQueue[Outcome | BaseException | None], jobs: int
) -> Generator[list[Outcome]]:
    """Yield the outcomes in the queue, until each thread has put None into the queue."""
    while jobs:
        batch = []
        item = _next(ended)
        while True:
            if isinstance(item, BaseException):
                raise item
            if item is None:
                jobs -= 1
            else:
                batch.append(item)
            try:
                item = ended.get_nowait()
            except Empty:
                break
        if batch:
            yield batch


def _next(
    ended: SimpleQueue[Outcome | BaseException | None],
) -> Outcome | BaseException | None:
    while True:
        with suppress(Empty):
            return ended.get(timeout=LOOK_SECONDS)


def _replay(
    group: Group, task: Task, processes: ReplayProcesses, progress: Callable[[int], None]
) -> Outcome:
    if isinstance(group.trace, Exception):
        return failure(task, group.trace)
    if task.needs_process:
        return processes.carry_out(task, progress)
    assert group.trace is not None, "a dispatched task keeps its trace in memory"
    return carry_out(task, group.trace, progress)


def _progress(observer: Observer, stopped: Event) -> Callable[[int], None]:
    """Return a function that reports the progress of a run, and ends the run with the sweep."""

    def progress(events: int) -> None:
        if stopped.is_set():
            raise Stopped
        observer.advanced(events)

    return progress
