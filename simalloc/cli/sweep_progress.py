"""How a sweep comes along, on a terminal."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from threading import Lock
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from simalloc.cli.progress import PATIENCE
from simalloc.sweep import Observer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.sweep.task import Outcome, Task

MEASURE: Final = "fragmentation_4"


class SweepProgress(Observer):
    """Shows runs done, events a second, time left and the worst policy so far on stderr.

    Nothing is shown if stderr is not a terminal, or in the first two seconds. `done` counts the
    runs that are safe in the results.
    """

    def __init__(self) -> None:
        self.done = 0
        self._total = 0
        self._events = 0
        self._lock = Lock()
        self._sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._started = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.fields[runs]} runs"),
            BarColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[worst]}"),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("", total=None, runs="", speed="", worst="")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, tasks: Sequence[Task]) -> None:
        """Take note of the runs that are to be done."""
        self._total = len(tasks)
        self._started = time.monotonic()
        self._bar.update(self._task, total=sum(task.source.events for task in tasks))

    def advanced(self, events: int) -> None:
        """Move the bar."""
        with self._lock:
            self._events += events
        elapsed = time.monotonic() - self._started
        self._bar.update(
            self._task,
            completed=self._events,
            speed=f"{self._events / max(elapsed, 1e-9) / 1e6:.1f} million events/s",
        )
        if not self._bar.live.is_started and elapsed > PATIENCE:
            self._bar.start()

    def finished(self, outcome: Outcome) -> None:
        """Count a run, and see which policy is worst so far."""
        self.done += 1
        value = outcome.row.get(MEASURE)
        if value is not None:
            total = self._sums[outcome.key.policy]
            total[0] += value
            total[1] += 1
        self._show_counts()

    def left(self, task: Task) -> None:
        """Take a run that another sweep has off the total."""
        self._total -= 1
        self.advanced(task.source.events)

    def _show_counts(self) -> None:
        means = {policy: total / count for policy, (total, count) in self._sums.items()}
        worst = max(means, key=lambda policy: means[policy], default=None)
        self._bar.update(
            self._task,
            runs=f"{self.done:,} of {self._total:,}",
            worst="" if worst is None else f"worst so far: {worst}, #4 {100 * means[worst]:.3g} %",
        )
