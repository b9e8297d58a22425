"""Replaying a trace under many policies at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from threading import Event, Lock
from typing import TYPE_CHECKING

from simalloc.heap.run import Realloc
from simalloc.heap.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simalloc.heap.run import Run
    from simalloc.policy import Policy
    from simalloc.trace import Trace


def simulate_all(
    trace: Trace,
    policies: Sequence[Policy | str],
    *,
    scale: int = 16,
    realloc: Realloc | str = Realloc.FREE_FIRST,
    progress: Callable[[int], None] | None = None,
) -> list[Run]:
    """Replay a trace under all policies on all cores; Ctrl-C stops them within a stride.

    `progress` is called, from any thread, with the events done since the last call. Raises as
    `simulate` does.
    """
    stopped = Event()
    lock = Lock()

    def reporter() -> Callable[[int], None]:
        done = 0

        def report(events: int) -> None:
            nonlocal done
            if stopped.is_set():
                raise KeyboardInterrupt
            if progress is not None:
                with lock:
                    progress(events - done)
            done = events

        return report

    with ThreadPoolExecutor(cpu_count()) as pool:
        waiting = [
            pool.submit(simulate, trace, one, scale=scale, realloc=realloc, progress=reporter())
            for one in policies
        ]
        try:
            return [run.result() for run in waiting]
        except BaseException:
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise
