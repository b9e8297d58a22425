"""What a report page shows of one trace: everything is computed here, nothing is drawn."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from simalloc.errors import SimallocError
from simalloc.heap import simulate_all
from simalloc.measure import fragmentation, real_waste, waste, watch
from simalloc.measure.free_sizes import FreeClasses
from simalloc.measure.heap_map import Drawing
from simalloc.measure.longest_stays import Longest
from simalloc.measure.pins import PinSearch
from simalloc.policy import expand_policies, spell, with_and_without_mechanism
from simalloc.policy.families.offline import Offline
from simalloc.policy.parts import Coalescing
from simalloc.trace.statistics import describe, spread_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from simalloc.heap import Run
    from simalloc.heap.real import NativeRun
    from simalloc.measure import FreeSizes, HeapMap, Pins, Stays, Waste
    from simalloc.policy import Policy
    from simalloc.trace import EventSource
    from simalloc.trace.statistics import Spread, Statistics

COLUMNS: Final = 1600
"""Cells across a map, as long as the page does not get too large."""
WHOLE_EVENTS: Final = 10_000_000
"""Up to so many events a trace is also looked at by what holds all of it: 165 bytes an event."""
_ROOM: Final = 400_000_000
"""Bytes for the heaps of all policies that are replayed at a time."""
_LIVE_BYTES: Final = 64
"""What one takes for each object that is live, at most."""
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
    free: FreeSizes


@dataclass(frozen=True, eq=False)
class Findings:
    """One trace under all policies; `runs` have the smallest peak heap first."""

    trace: EventSource
    given: str
    """The trace's file or name, as a command finds it."""
    statistics: Statistics
    spread: Spread
    runs: Sequence[Run]
    possible: Run | None
    """What one could do who knew the whole trace; None of one too long to be in memory."""
    natives: Sequence[NativeRun]
    mapped: Sequence[Mapped]
    """The best and the worst run, and then others."""
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


Stage = Callable[[str, float], AbstractContextManager[Callable[[float], None]]]
"""Shows how far a part of the work is: what it is called, how much there is to do, and done."""


@contextmanager
def _unseen(_label: str, _total: float) -> Iterator[Callable[[float], None]]:
    yield lambda _: None


def find_out(
    trace: EventSource,
    *,
    given: str,
    chosen: Sequence[str] = (),
    scale: int | None = None,
    realloc: str | None = None,
    natives: Sequence[NativeRun] = (),
    stage: Stage = _unseen,
) -> Findings:
    """Replay a trace under @default and some `chosen` policies, and look at a few closely.

    Those are the best, the worst and the chosen ones. `given` is what a command is to be given for
    the trace. A trace file is read as it is replayed; of one with more than `WHOLE_EVENTS` the best
    possible heap is not searched for, and trees that are never balanced are not replayed, unless
    they are chosen. Raises `SimallocError` for a trace
    without events, `PlanError` for a policy that does not exist.
    """
    if not len(trace):
        raise SimallocError(f"{trace.name} has no events, so there is nothing to report")
    both = _all_runs(trace, _policies_of(trace, chosen), scale, realloc, stage)
    possible = next((run for run in both if run.found is not None), None)
    runs = [run for run in both if run.found is None]
    # Of equal heaps the better average first; the catalogue's order after that.
    runs.sort(key=lambda run: (run.peak_heap_bytes, fragmentation(run).mean))
    closely = {spell(policy) for policy in (expand_policies(chosen) if chosen else ())}
    roles = _roles(runs, closely)
    if possible is not None and spell(possible.policy) in closely:
        roles.append(("possible", possible))
    mapped = [_look_closely(trace, run, role, stage) for role, run in roles]
    wastes = [*_wastes(trace, [run.policy for _, run in roles], stage), *map(real_waste, natives)]
    with stage(f"{trace.name}: statistics", 1.0) as advance:
        described = describe(trace, progress=advance)
    with stage(f"{trace.name}: lives", len(trace)) as advance:
        spread = spread_of(trace, progress=advance)
    return Findings(trace, given, described, spread, runs, possible, natives, mapped, wastes)


def coarser(findings: Findings) -> Findings:
    """Return the same findings with maps of half the columns and rows."""
    mapped = [
        replace(one, map=one.map.coarser(), stays=one.stays.first(_NAMED * len(one.map.heap) // 2))
        for one in findings.mapped
    ]
    return replace(findings, mapped=mapped)


def _policies_of(trace: EventSource, chosen: Sequence[str]) -> list[Policy]:
    """Return @default, the best possible and the chosen policies, as far as they suit a trace.

    Of a long one those are left out that hold it in memory, and those of which an event may take
    longer the more free blocks there are: on a hundred million events that is hours.
    """
    everything = expand_policies(["@default", "best-possible", *chosen])
    if len(trace) <= WHOLE_EVENTS:
        return list(everything)
    kept = {spell(policy) for policy in (expand_policies(chosen) if chosen else ())}
    return [
        policy
        for policy in everything
        if spell(policy) in kept
        or not (policy.description.is_slow or isinstance(policy.description, Offline))
    ]


def _all_runs(
    trace: EventSource,
    policies: Sequence[Policy],
    scale: int | None,
    realloc: str | None,
    stage: Stage,
) -> list[Run]:
    """Replay a trace under all policies, as many at a time as there is room for."""
    runs: dict[str, Run] = {}
    with stage(trace.name, len(trace) * len(policies)) as advance:
        for some in _dealt(trace, policies):
            for run in simulate_all(trace, some, scale=scale, realloc=realloc, progress=advance):
                runs[spell(run.policy)] = run
    return [runs[spell(policy)] for policy in policies]


def _dealt(trace: EventSource, policies: Sequence[Policy]) -> list[list[Policy]]:
    """Deal policies out like cards, into as few hands as have room each to be replayed at once.

    Those that never merge free blocks come first. On a long trace they gather millions of these, so
    no two are in one hand then.
    """
    hoarders = [one for one in policies if _never_merges(one) and len(trace) > WHOLE_EVENTS]
    together = max(1, _ROOM // (_LIVE_BYTES * max(trace.slots, 1)))
    hands = max(len(hoarders), -(-len(policies) // together))
    dealt = [*hoarders, *(one for one in policies if one not in hoarders)]
    return [dealt[first::hands] for first in range(hands)]


def _never_merges(policy: Policy) -> bool:
    return getattr(policy.description, "coalescing", None) is Coalescing.NONE


def _roles(runs: Sequence[Run], chosen: Collection[str]) -> list[tuple[str, Run]]:
    best, worst = runs[0], runs[-1]
    others = (run for run in runs[1:-1] if spell(run.policy) in chosen)
    return [("best", best), ("worst", worst), *(("chosen", run) for run in others)]


def _wastes(trace: EventSource, policies: Sequence[Policy], stage: Stage) -> list[Waste]:
    """Return what the heaps' peaks consist of, alone and with mechanism, at scale 1."""
    described = with_and_without_mechanism(policies)
    runs = _all_runs(trace, described, 1, "in-place", stage)
    with stage(f"{trace.name}: waste", len(runs) * len(trace)) as advance:
        return [waste(trace, run, progress=advance) for run in runs]


def _look_closely(trace: EventSource, run: Run, role: str, stage: Stage) -> Mapped:
    """Return what is shown of a run, for which it is made once more."""
    drawing = Drawing(run, columns=COLUMNS, rows=COLUMNS // 2)
    longest, search, classes = (
        Longest(run, _NAMED * COLUMNS),
        PinSearch(trace, run),
        FreeClasses(run),
    )
    with stage(f"{trace.name}: map of {spell(run.policy)}", len(trace)) as advance:
        watch(trace, run, [drawing, longest], [search, classes], progress=advance)
    return Mapped(
        role=role,
        run=run,
        map=drawing.map(),
        stays=longest.stays(trace),
        pins=search.pins(),
        free=classes.sizes(),
    )
