"""The outcome of a trace under each malloc and setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from simalloc.advice.candidates import PYTHONS_OWN, Candidate
from simalloc.advice.contention import at_once
from simalloc.advice.costs import Cost, cost_of, cpu_seconds_of
from simalloc.advice.machine import Machine, machine_of
from simalloc.advice.marks import max_unused, replay_marked
from simalloc.advice.moments import (
    Marks,
    Moment,
    estimated_live,
    live_of,
    marks_of,
    moments_of,
    shifted,
)
from simalloc.advice.prices import prices
from simalloc.advice.python_release import python_of
from simalloc.advice.recorded import Recorded, recorded
from simalloc.advice.releases import installed_release
from simalloc.heap import Footprint, Run
from simalloc.heap.running.setting import Setting as Replayed
from simalloc.heap.start import Start
from simalloc.trace import EventSource, Op, Trace
from simalloc.trace.at_start import live_at_start

IN_MEMORY: Final = 10_000_000
"""Maximum number of events of a trace held in memory.

Longer traces are read in chunks, and some figures are omitted.
"""

_NO_COST: Final = Cost(0, 0, 0.0, 0.0, None)


@dataclass(frozen=True)
class Setting:
    """A candidate, the run of its model, and its command line or environment.

    `moments` has the resident bytes at each moment, including the malloc's library
    (`library_bytes`). `live` has the live bytes at each moment except the peak. `cost` is the
    additional cost relative to the present setting. `unused_event` is the event of `Moment.UNUSED`.
    """

    candidate: Candidate
    run: Run
    line: str
    at_once: float | None = None
    """Share of requests that compete with another thread for an arena, or None if unknown."""
    moments: Mapping[Moment, float] = field(default_factory=dict)
    cost: Cost = _NO_COST
    unused_event: int = -1
    live: Mapping[Moment, float] = field(default_factory=dict)

    @property
    def resident(self) -> Footprint:
        """The resident bytes of the heap over the run."""
        assert self.run.resident is not None, "settings are always simulated with resident=True"
        return self.run.resident

    @property
    def library_bytes(self) -> int:
        """Static memory of the malloc's library in bytes."""
        return self.run.policy.description.library_bytes

    @property
    def peak_bytes(self) -> float:
        """Peak of the resident bytes, including the library's."""
        return self.resident.peak_bytes + self.library_bytes

    @property
    def mean_bytes(self) -> float:
        """Mean of the resident bytes over the events, including the library's."""
        return self.resident.mean_bytes + self.library_bytes

    @property
    def final_bytes(self) -> float:
        """Resident bytes after the last event, including the library's."""
        return self.resident.final_bytes + self.library_bytes


def settings_of(
    source: EventSource,
    tried: Sequence[Candidate],
    *,
    machine: Machine | None = None,
    start: Start | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Setting]:
    """Replay a trace under the model of each candidate, with resident pages.

    The malloc that served the program is modelled in the release nearest to the recorded one, on
    the recorded machine or on `machine`. With a `start`, runs begin with that heap, whose live
    blocks come first in the trace; `tried` must then contain only candidates of glibc. `progress`
    is called with the number of events done since its last call, up to `events_of_settings`. Raises
    `PolicyError` for a setting that the model does not have.
    """
    process = recorded(source.provenance)
    machine = machine or machine_of(source.provenance)
    is_long = len(source) > IN_MEMORY
    held = source if is_long else source.in_memory()
    used = _used(tried, process)
    world = _World(process, machine, start)
    marks = _marks_for(held, used, world, progress)
    replayed = [_replayed(held, each, world) for each in tried]
    objects = live_at_start(held.provenance).objects
    places = [shifted(marks, each.trims_every, objects) for each in tried]
    found = replay_marked(replayed, places, progress)
    runs = {each: marked.run for each, marked in zip(tried, found, strict=True)}
    together = {} if is_long else at_once(held.in_memory(), runs)
    seconds = cpu_seconds_of(held, IN_MEMORY)
    live = estimated_live(runs[used], marks) if is_long else live_of(held.in_memory(), marks)
    return [
        Setting(
            each,
            marked.run,
            each.line_where(process.allocator) if start is None else each.call,
            together.get(each),
            moments_of(marked, marks, marked.run.policy.description.library_bytes),
            cost_of(marked.run, runs[used], prices(), seconds),
            marks.unused,
            live,
        )
        for each, marked in zip(tried, found, strict=True)
    ]


def events_of_settings(source: EventSource, tried: Sequence[Candidate]) -> int:
    """Return the maximum number of events that `settings_of` replays."""
    return len(source) * (len(tried) + 2)


class _World(NamedTuple):
    """The environment of all runs: recorded process, machine, and initial heap."""

    process: Recorded
    machine: Machine
    start: Start | None


def _marks_for(
    source: EventSource,
    used: Candidate,
    world: _World,
    progress: Callable[[int], None] | None = None,
) -> Marks:
    """Return the marks for comparing settings; unused bytes are measured under `used`."""
    now = _replayed(source, used, world)
    nowhere = np.empty(0, np.int64)
    run = replay_marked([now], [nowhere], progress)[0].run
    unused = max_unused(now, run, progress or (lambda _: None))
    if len(source) > IN_MEMORY:
        first = live_at_start(source.provenance).last_event
        event = np.unique([first, unused, len(source) - 1])
        return Marks(event, unused, np.empty(0), np.empty(0), first)
    return marks_of(source.in_memory(), unused)


def _replayed(source: EventSource, candidate: Candidate, world: _World) -> Replayed:
    """Return the replay of a candidate."""
    every, machine = candidate.trims_every, world.machine
    policy = candidate.policy(version_for(candidate, world.process), machine)
    trace = with_trims(source.in_memory(), every) if every else source
    return Replayed.of(trace, policy, page=machine.page, resident=True, start=world.start)


def _used(tried: Sequence[Candidate], process: Recorded) -> Candidate:
    """Return the candidate that the program uses according to the trace, or the first."""
    is_python = any(one.python for one in tried)
    name = PYTHONS_OWN if is_python else process.allocator
    return next((one for one in tried if one.name == name), tried[0])


def in_use(settings: Sequence[Setting], process: Recorded) -> Setting:
    """Return the setting that the program uses according to the trace, or the first."""
    used = _used([one.candidate for one in settings], process)
    return next(one for one in settings if one.candidate == used)


def version_for(candidate: Candidate, process: Recorded) -> str:
    """Return the release that served the program, if the candidate uses that malloc.

    Otherwise return the installed release, or "" if it is unknown.
    """
    if candidate.below == process.allocator and process.version:
        return process.version
    return installed_release(candidate.below)


def policy_in_use(source: EventSource) -> str:
    """Return the text of the policy nearest to the allocator that served a trace's program.

    The policy is pymalloc if Python's allocator serves the trace's small objects, and ptmalloc if
    the program's malloc has no model.
    """
    process, python = recorded(source.provenance), python_of(source)
    malloc = process.allocator if process.has_model else "glibc"
    candidate = Candidate(PYTHONS_OWN, python=python) if python else Candidate(malloc)
    return candidate.policy(version_for(candidate, process), machine_of(source.provenance))


def with_trims(trace: Trace, every: int) -> Trace:
    """Return the trace of the program with a call of malloc_trim after each `every` events.

    Events that allocate the objects live at the start of the recording are not counted.
    """
    places = np.arange(live_at_start(trace.provenance).objects + every, len(trace), every)
    columns = {name: np.insert(values, places, values[places - 1])
               for name, values in trace.columns.items()}  # fmt: skip
    return Trace.from_events(
        np.insert(trace.op, places, Op.EMPTY),
        np.insert(trace.object, places, -1),
        np.insert(trace.size, places, 0),
        name=trace.name,
        provenance=trace.provenance,
        **columns,
    )
