"""Progress bar of a sweep."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from simalloc.progress import Bar
from simalloc.report.units import spell_percent
from simalloc.sweep.observer import Observer

if TYPE_CHECKING:
    from simalloc.sweep.task import Outcome, Task

MEASURE: Final = "fragmentation_4"


class SweepProgress(Observer):
    """Shows a bar with completed runs, events per second, remaining time and the worst policy.

    `done` is the number of runs that are stored in the results.
    """

    def __init__(self, bar: Bar) -> None:
        self.done = 0
        self._bar = bar
        self._total = 0
        self._worst = ""
        self._sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def begin(self, tasks: Sequence[Task]) -> None:
        """Begin the bar of the runs that the sweep will do."""
        self._total = len(tasks)
        self._bar.started = time.monotonic()
        self._bar.total = sum(task.source.events for task in tasks)

    def advanced(self, events: int) -> None:
        """Advance the bar."""
        speed = self._bar.done / max(self._bar.seconds, 1e-9) / 1e6
        self._bar.label = f"{self.done:,} of {self._total:,} runs"
        self._bar.text = f"{speed:.1f} million events/s{self._worst}"
        self._bar(events)

    def finished(self, outcome: Outcome) -> None:
        """Count a run, and update the worst policy."""
        self.done += 1
        value = outcome.row.get(MEASURE)
        if value is not None:
            total = self._sums[outcome.key.policy]
            total[0] += value
            total[1] += 1
            means = {policy: total / count for policy, (total, count) in self._sums.items()}
            worst = max(means, key=lambda policy: means[policy])
            self._worst = f", worst so far: {worst}, #4 {spell_percent(means[worst])}"
        self.advanced(0)

    def left(self, task: Task) -> None:
        """Subtract a run of another sweep from the total."""
        self._total -= 1
        self.advanced(task.source.events)
