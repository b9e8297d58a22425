"""The receiver of a sweep's progress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simalloc.sweep.task import Outcome, Task


class Observer:
    """Receives the progress of a sweep and ignores it. Subclass it to show progress."""

    def begin(self, tasks: Sequence[Task]) -> None:
        """Take note of the runs that are to be done."""

    def advanced(self, events: int) -> None:
        """Count `events` more replayed events; called from any thread."""

    def finished(self, outcome: Outcome) -> None:
        """Take note of a run that has ended and is safe in the file of results."""

    def left(self, task: Task) -> None:
        """Take note of a run that another sweep has done or in hand; called from any thread."""
