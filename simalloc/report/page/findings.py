"""What a report page shows of one trace: everything is computed here, nothing is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from simalloc.errors import SimallocError
from simalloc.heap import simulate, simulate_all
from simalloc.measure import (
    fragmentation,
    free_sizes,
    heap_map,
    longest_stays,
    pins,
    real_waste,
    waste,
)
from simalloc.policy import ALL, expand_policies, spell, with_and_without_mechanism
from simalloc.trace.statistics import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from simalloc.heap import Run
    from simalloc.heap.real import NativeRun
    from simalloc.measure import FreeSizes, HeapMap, Pins, Stays, Waste
    from simalloc.policy import Policy
    from simalloc.trace import Trace
    from simalloc.trace.statistics import Statistics

COLUMNS: Final = 1600
"""Cells across a map, as long as the page does not get too large."""
_NAMED: Final = 2
"""Objects a map can name, for each column: those that take most bytes for longest."""


@dataclass(frozen=True, eq=False)
class Mapped:
    """One policy looked at closely; `role` says why: best, worst, chosen or possible."""

    role: str
    run: Run
    map: HeapMap
    stays: Stays
    pins: Pins


@dataclass(frozen=True, eq=False)
class Findings:
    """One trace under all policies; `runs` have the smallest peak heap first."""

    trace: Trace
    given: str
    """The trace's file or name, as a command finds it."""
    statistics: Statistics
    runs: Sequence[Run]
    possible: Run
    """What one could do who knew the whole trace."""
    natives: Sequence[NativeRun]
    mapped: Sequence[Mapped]
    free: Sequence[FreeSizes]
    """Of the best and of the worst run."""
    wastes: Sequence[Waste]
    """Where the bytes are at real sizes, in what is looked at closely and in real allocators."""

    @property
    def best(self) -> Run:
        """The run with the smallest peak heap."""
        return self.runs[0]

    @property
    def worst(self) -> Run:
        """The run with the largest peak heap."""
        return self.runs[-1]


def find_out(
    trace: Trace,
    *,
    given: str,
    chosen: Sequence[str] = (),
    scale: int = 16,
    realloc: str | None = None,
    natives: Sequence[NativeRun] = (),
    progress: Callable[[int], None] | None = None,
) -> Findings:
    """Replay a trace under the catalogue and some `chosen` policies, and look at a few closely.

    Those are the best, the worst and the chosen ones. `given` is what a command is to be given for
    the trace. `progress` is called with the events done since the last call, those of the trace for
    each of `policies_of(chosen)`. Raises `SimallocError` for a trace without events, `PlanError`
    for a policy that does not exist.
    """
    if not len(trace):
        raise SimallocError(f"{trace.name} has no events, so there is nothing to report")
    policies = policies_of(chosen)
    both = simulate_all(trace, policies, scale=scale, realloc=realloc, progress=progress)
    possible = next(run for run in both if run.found is not None)
    runs = [run for run in both if run.found is None]
    # Of equal heaps the better average first; the catalogue's order after that.
    runs.sort(key=lambda run: (run.peak_heap_bytes, fragmentation(run).mean))
    closely = expand_policies(chosen) if chosen else ()
    roles = _roles(runs, {spell(policy) for policy in closely})
    if spell(possible.policy) in map(spell, closely):
        roles.append(("possible", possible))
    mapped = [_look_closely(trace, run, role, COLUMNS) for role, run in roles]
    free = [free_sizes(trace, run) for run in (runs[0], runs[-1])]
    wastes = [*_wastes(trace, [run.policy for _, run in roles]), *map(real_waste, natives)]
    return Findings(trace, given, describe(trace), runs, possible, natives, mapped, free, wastes)


def with_columns(findings: Findings, columns: int) -> Findings:
    """Return the same findings with smaller maps."""
    mapped = [_look_closely(findings.trace, one.run, one.role, columns) for one in findings.mapped]
    return replace(findings, mapped=mapped)


def policies_of(chosen: Sequence[str]) -> tuple[Policy, ...]:
    """Return the catalogue and what of the chosen policies is not in it."""
    return expand_policies([ALL, *chosen])


def _roles(runs: Sequence[Run], chosen: Collection[str]) -> list[tuple[str, Run]]:
    best, worst = runs[0], runs[-1]
    others = (run for run in runs[1:-1] if spell(run.policy) in chosen)
    return [("best", best), ("worst", worst), *(("chosen", run) for run in others)]


def _wastes(trace: Trace, policies: Sequence[Policy]) -> list[Waste]:
    """Return what the heaps' peaks consist of, alone and with mechanism, at scale 1."""
    described = with_and_without_mechanism(policies)
    runs = simulate_all(trace, described, scale=1, realloc="in-place")
    return [waste(trace, run) for run in runs]


def _look_closely(trace: Trace, run: Run, role: str, columns: int) -> Mapped:
    placed = simulate(trace, run.policy, scale=run.scale, realloc=run.realloc, addresses=True)
    return Mapped(
        role=role,
        run=run,
        map=heap_map(trace, placed, columns=columns, rows=columns // 2),
        stays=longest_stays(trace, placed, _NAMED * columns),
        pins=pins(trace, placed),
    )
