"""Order of the remaining tasks of a sweep, and the traces in memory.

Runs are grouped by trace, so that each trace is loaded once. The longest traces come first, so that
the last tasks are short and all threads stay busy to the end. Within a trace, the policy that has
been slowest so far comes first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from threading import Condition
from typing import TYPE_CHECKING

from simalloc.errors import SimallocError
from simalloc.sizes import spell_bytes

if TYPE_CHECKING:
    from simalloc.sweep.source import Source
    from simalloc.sweep.task import Outcome, Task
    from simalloc.trace import EventSource


@dataclass(eq=False)
class Group:
    """The runs of one trace. `trace` is the loaded trace, or the error of loading, or None."""

    source: Source
    waiting: list[Task] = field(default_factory=list)
    running: int = 0
    copies: int = 0
    """Maximum number of other processes with a copy of the trace, for policies in Python."""
    loading: bool = False
    trace: EventSource | Exception | None = None

    def stream(self) -> None:
        """Make every run read the trace from its file, if possible, to save memory."""
        self.source = self.source.streamed()
        self.waiting = [replace(task, source=self.source) for task in self.waiting]


def grouped(tasks: Iterable[Task]) -> list[Group]:
    """Return the runs grouped by trace, the longest trace first."""
    groups: dict[str, Group] = {}
    for task in tasks:
        group = groups.setdefault(task.source.sha256, Group(task.source))
        group.waiting.append(task)
    return sorted(groups.values(), key=lambda group: -group.source.events)


class Board:
    """Gives tasks to threads. Traces take at most `budget` bytes of memory.

    The number of threads is the smaller of `workers` and the number of tasks. A trace that does not
    fit is streamed from its file. Raises `SimallocError` if the trace cannot be streamed, or if the
    heaps alone do not fit.
    """

    def __init__(self, tasks: Sequence[Task], *, workers: int, budget: int) -> None:
        self.workers = min(workers, len(tasks))
        self._groups = grouped(tasks)
        for group in self._groups:
            group.copies = self.workers * any(task.needs_process for task in group.waiting)
        self._left = budget
        self._seconds_an_event: dict[str, float] = defaultdict(lambda: float("inf"))
        self._changed = Condition()
        self._stopped = False
        for group in self._groups:
            if self._footprint(group) > budget:
                group.stream()
            if self._footprint(group) > budget:
                needed, allowed = (spell_bytes(size) for size in (self._footprint(group), budget))
                raise SimallocError(
                    f"{group.source.name} needs {needed} of memory with {self.workers} replays at "
                    f"a time, but the budget is {allowed}; raise it with --memory, or lower --jobs"
                )

    def take(self) -> tuple[Group, Task] | None:
        """Return a task, after loading its trace if necessary, or None at the end."""
        while True:
            with self._changed:
                while (group := self._choose()) is None:
                    if self._stopped or not any(group.waiting for group in self._groups):
                        return None
                    self._changed.wait()
                if group.trace is not None:
                    group.running += 1
                    return group, self._slowest(group)
                group.loading = True
                self._left -= self._footprint(group)
            loaded = _load(group.source)
            with self._changed:
                group.trace, group.loading = loaded, False
                self._changed.notify_all()

    def done(self, group: Group, outcome: Outcome | None) -> None:
        """Record the outcome of a task of a group, or None if another sweep does the task."""
        with self._changed:
            group.running -= 1
            if outcome is not None and not outcome.failed and outcome.row["events"]:
                seconds = outcome.row["seconds"] / outcome.row["events"]
                self._seconds_an_event[outcome.key.policy] = seconds
            if not group.running and not group.waiting:
                group.trace = None
                self._left += self._footprint(group)
                self._groups.remove(group)
            self._changed.notify_all()

    def stop(self) -> None:
        """Make `take` return no more tasks."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _choose(self) -> Group | None:
        """Return the next group: a loaded group, else a group that fits; or None to wait."""
        waiting = [] if self._stopped else [group for group in self._groups if group.waiting]
        loaded = (group for group in waiting if group.trace is not None)
        fitting = (
            group for group in waiting if not group.loading and self._footprint(group) <= self._left
        )
        return next(loaded, None) or next(fitting, None)

    def _slowest(self, group: Group) -> Task:
        """Remove and return the task of the slowest policy. An unknown speed counts as slowest."""
        place = max(
            range(len(group.waiting)),
            key=lambda place: self._seconds_an_event[group.waiting[place].key.policy],
        )
        return group.waiting.pop(place)

    def _footprint(self, group: Group) -> int:
        return group.source.footprint(self.workers) + group.copies * group.source.memory


def _load(source: Source) -> EventSource | Exception:
    try:
        return source.load()
    except Exception as error:  # noqa: BLE001 - it becomes the error of the trace's runs
        return error
