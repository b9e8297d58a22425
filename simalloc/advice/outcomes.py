"""What a trace comes to under each malloc and setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from simalloc.advice.candidates import PYTHONS_OWN, Candidate
from simalloc.advice.contention import at_once
from simalloc.advice.python_release import python_of
from simalloc.advice.recorded import Recorded, recorded
from simalloc.advice.releases import installed_release
from simalloc.heap import Footprint, Run, simulate_all
from simalloc.trace import EventSource, Op, Trace

IN_MEMORY: Final = 10_000_000
"""Traces of up to this many events are looked at as a whole."""


@dataclass(frozen=True)
class Setting:
    """A candidate, the run of its model, and what to type to have it."""

    candidate: Candidate
    run: Run
    line: str
    at_once: float | None = None
    """The share of requests that would want an arena that another thread has; None: not known."""

    @property
    def resident(self) -> Footprint:
        """The resident bytes over the run."""
        assert self.run.resident is not None, "settings are always asked for with residence"
        return self.run.resident


def settings_of(
    source: EventSource,
    tried: Sequence[Candidate],
    *,
    progress: Callable[[int], None] | None = None,
) -> list[Setting]:
    """Replay a trace under the model of each candidate, with resident pages.

    The malloc that served the program is modelled in the release nearest to the recorded one.
    `progress` is called with the number of events done since its last call, of `len(tried)` times
    those of the trace. Raises `PolicyError` for a setting that the model does not have.
    """
    process = recorded(source.provenance)
    found: dict[Candidate, Run] = {}
    for every in sorted({candidate.trims_every for candidate in tried}):
        some = [candidate for candidate in tried if candidate.trims_every == every]
        trace = with_trims(source.in_memory(), every) if every else source
        policies = [candidate.policy(version_for(candidate, process)) for candidate in some]
        runs = simulate_all(trace, policies, resident=True, progress=progress)
        found |= dict(zip(some, runs, strict=True))
    together = at_once(source.in_memory(), found) if len(source) <= IN_MEMORY else {}
    return [
        Setting(each, found[each], each.line_where(process.allocator), together.get(each))
        for each in tried
    ]


def version_for(candidate: Candidate, process: Recorded) -> str:
    """Return the release that served the program, if the candidate needs that malloc.

    Else it is what is installed, as far as that is known, or nothing.
    """
    if candidate.below == process.allocator and process.version:
        return process.version
    return installed_release(candidate.below)


def policy_in_use(source: EventSource) -> str:
    """Return the text of the policy that is nearest to what served a trace's program.

    It is Python's own allocator if that serves the trace's small objects, and glibc's malloc if
    what did has no model.
    """
    process, python = recorded(source.provenance), python_of(source)
    malloc = process.allocator if process.has_model else "glibc"
    candidate = Candidate(PYTHONS_OWN, python=python) if python else Candidate(malloc)
    return candidate.policy(version_for(candidate, process))


def with_trims(trace: Trace, every: int) -> Trace:
    """Return the trace of the program if it called malloc_trim after each `every` events."""
    places = np.arange(every, len(trace), every)
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
