"""Receiver of the progress of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simalloc.sweep.task import Outcome, Task


class Observer:
    """Receives the progress of a sweep and ignores it. A subclass can show the progress."""

    def begin(self, tasks: Sequence[Task]) -> None:
        """Receive the runs that the sweep will do."""

    def advanced(self, events: int) -> None:
        """Count `events` more replayed events. Any thread may call this method."""

    def finished(self, outcome: Outcome) -> None:
        """Receive the outcome of a run that is stored in the file of results."""

    def left(self, task: Task) -> None:
        """Receive a run that another sweep has done or claimed. Any thread may call this method."""
