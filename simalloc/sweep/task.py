"""Runs of a sweep: their tasks, keys and outcomes."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from simalloc.errors import SimallocError
from simalloc.heap import Run, Timeline, simulate
from simalloc.heap.fragmentation import MEASURES
from simalloc.heap.quantity import COLUMNS, QUANTITIES
from simalloc.heap.run_options import RunOptions
from simalloc.policy import Policy, PolicyFromCode, modules_of, spell_exactly
from simalloc.report.runs import flat_record
from simalloc.trace import EventSource
from simalloc.version import code_version

if TYPE_CHECKING:
    from simalloc.sweep.source import Source


class Key(NamedTuple):
    """All properties that determine the outcome of a run. Runs with equal keys are the same run.

    `trace_sha256` covers the events and the optional columns on which the policy depends.
    """

    trace_sha256: str
    policy: str
    scale: int
    realloc: str
    code: str


def key_of(row: Mapping[str, Any]) -> Key:
    """Return the key of the run in a row."""
    return Key(*(row[name] for name in Key._fields))


@dataclass(frozen=True)
class Task:
    """A planned run."""

    source: Source
    policy: Policy
    options: RunOptions
    """Options of the run, including defaults of the policy."""
    timeline: bool = False

    @cached_property
    def key(self) -> Key:
        """Key of the run, with the installed version of the code."""
        return Key(
            self.source.identity.digest(self.columns),
            spell_exactly(self.policy),
            self.options.exact_scale,
            self.options.realloc_rule.value,
            code_version(self.policy.description.core, modules_of(self.policy)),
        )

    @property
    def columns(self) -> Collection[str]:
        """Optional columns that can affect the outcome. A policy in Python can use any column.

        Resident bytes also depend on the column of bytes that the program has not written.
        """
        if isinstance(self.policy, PolicyFromCode):
            return self.source.identity.columns
        return {*self.policy.description.read_columns, "unwritten"}

    @property
    def figures(self) -> list[str]:
        """Columns that the row of this run has, and that rows of other sweeps may lack."""
        description, options = self.policy.description, self.options
        has_pages = options.resident and description.runner != "offline"
        asked = {"resident": has_pages, "largest-free": options.largest_free}
        return [COLUMNS[of] for of in QUANTITIES if asked.get(of)]

    @property
    def needs_process(self) -> bool:
        """True if the run needs a process, because its policy is in Python and holds the GIL.

        False for a policy that is not defined in a file, because no other process can create it.
        """
        return isinstance(self.policy, PolicyFromCode) and self.policy.description.code.portable


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run: a row of plain values, and the timeline if requested.

    The row contains the fields of `Key`, `events_sha256` (of the trace without optional columns),
    `stopped` (whether a refused request ended the run), `trace` (its name), `program` and, for a
    generated trace, `seed`, `parameters` (all of the policy's, by name), `finished` (UTC), `host`,
    `error` (None or the reason of the failure) and, unless the run failed, every figure of
    `simalloc.report.runs.flat_record` that the run has.
    """

    key: Key
    row: dict[str, Any]
    timeline: Timeline | None = None

    @property
    def failed(self) -> bool:
        """True if the run ended with an error."""
        return self.row["error"] is not None


def carry_out(
    task: Task, trace: EventSource, progress: Callable[[int], None] | None = None
) -> Outcome:
    """Replay a trace for a task. An error becomes the outcome of the run."""
    try:
        run = simulate(trace, task.policy, task.options, progress=progress)
    except Exception as error:  # noqa: BLE001 - one run's failure must not stop the others
        return failure(task, error)
    names = {"trace": task.source.name, "policy": task.key.policy}
    figures = {name: value for name, value in _figures(run).items() if value is not None}
    figures["stopped"] = not figures.pop("finished")  # in a row, `finished` is the time of the run
    row = _identity(task) | figures | names | {"error": None}
    return Outcome(task.key, row, run.timeline if task.timeline else None)


def _figures(run: Run) -> dict[str, Any]:
    """Return the figures of a run, including the fragmentation of resident bytes if measured."""
    if run.resident is None:
        return flat_record(run)
    resident = flat_record(run, "resident")
    return flat_record(run) | {
        f"resident_{name}": resident[name] for name in (f"fragmentation_{n}" for n in MEASURES)
    }


def failure(task: Task, error: BaseException) -> Outcome:
    """Return the outcome of a run that failed."""
    return Outcome(task.key, _identity(task) | {"error": words_of(error)})


def words_of(error: BaseException) -> str:
    """Return the message of an error, after its type unless it is an error of simalloc."""
    kind = "" if isinstance(error, SimallocError) else f"{type(error).__name__}: "
    return f"{kind}{error}"


def _identity(task: Task) -> dict[str, Any]:
    origin = task.source.origin
    return {
        **task.key._asdict(),
        "program": origin.program,
        **({} if origin.seed is None else {"seed": origin.seed}),
        "events_sha256": task.source.identity.events,
        "trace": task.source.name,
        "parameters": task.policy.parameters,
        "finished": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "host": socket.gethostname(),
    }
