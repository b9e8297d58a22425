"""Data of a report page on one trace. This module computes the data, and draws nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Final

from simalloc.advice import (
    SHORT,
    Advice,
    Machine,
    Recorded,
    Setting,
    advise,
    candidates,
    events_of_advice,
    events_of_settings,
    first_candidates,
    machine_of,
    python_of,
    recorded,
    settings_of,
)
from simalloc.errors import SimallocError
from simalloc.heap import Run, simulate_all
from simalloc.heap.real import NativeRun
from simalloc.measure import (
    FreeSizes,
    HeapMap,
    Pins,
    Stays,
    Waste,
    fragmentation,
    real_waste,
    waste,
)
from simalloc.measure.folded_map import folded_map
from simalloc.measure.free_sizes import FreeClasses
from simalloc.measure.pins import PinSearch
from simalloc.measure.sites.site_map import SiteDrawing, SiteMap
from simalloc.measure.waste import WasteSums
from simalloc.policy import Policy, expand_policies, spell, with_and_without_mechanism
from simalloc.policy.families.offline import Offline
from simalloc.policy.parts import Coalescing, CoalescingTime
from simalloc.report.page.code import Code, look_at_code
from simalloc.trace import EventSource
from simalloc.trace.sample import refuse_sample
from simalloc.trace.statistics import Spread, Statistics, describe, spread_of

COLUMNS: Final = 1600
"""Columns of a map, unless the page would be too large."""
WHOLE_EVENTS: Final = 10_000_000
"""Maximum events of a trace for all settings, and for analyses that need the trace in memory, at
165 bytes per event."""
SHORT_EVENTS: Final = 1_000_000
"""Maximum events of a trace for real mallocs, and for the best possible heap, whose search takes as
long as all other analyses."""
_ROOM: Final = 400_000_000
"""Memory in bytes for the heaps of all policies that are replayed at the same time."""
_LIVE_BYTES: Final = 64
"""Maximum bytes that one policy needs for each live object."""
_NAMED: Final = 2
"""Maximum number of objects per column that a map can name: the largest and longest-lived."""


@dataclass(frozen=True, eq=False)
class Mapped:
    """One malloc or policy that is examined in detail; `role` is the reason."""

    role: str
    name: str
    """Name on the page: a malloc with its settings, or a policy."""
    run: Run
    map: HeapMap
    stays: Stays
    pins: Pins
    free: FreeSizes
    code: SiteMap | None
    """Map of the objects by code, or None if the trace has no call sites."""
    waste: Waste | None
    """Bytes by kind, with mechanism, or None for a policy with scaled sizes."""


@dataclass(frozen=True, eq=False)
class Findings:
    """One trace under the mallocs of today, and under policies.

    `runs` are the runs of policies, the smallest peak heap first.
    """

    trace: EventSource
    given: str
    """File or name of the trace, as in commands."""
    statistics: Statistics
    spread: Spread
    process: Recorded
    machine: Machine
    settings: Sequence[Setting]
    advice: Advice
    runs: Sequence[Run]
    possible: Run | None
    """Run of the best possible placement, or None if the trace is too long for memory."""
    natives: Sequence[NativeRun]
    mapped: Sequence[Mapped]
    """The program's present malloc, the best that can be installed, and the chosen policies."""
    wastes: Sequence[Waste]
    """Bytes of the heaps by kind, for the examined heaps and real allocators."""
    code: Code | None
    """Code by its requests, or None if the trace has no call sites or is too long."""

    @property
    def best(self) -> Run:
        """The run with the smallest peak heap."""
        return self.runs[0]


Stage = Callable[[str, float], AbstractContextManager[Callable[[float], None]]]
"""Shows the progress of a part of the work, given its name and its total."""


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
    """Replay a trace under the mallocs of today, under @default and some `chosen` policies.

    The program's present malloc, the best that can be installed, and the chosen policies are
    examined in detail. `given` is the trace's argument in commands. A trace file is read during the
    replay. If the trace has more than `SHORT_EVENTS`, the best possible heap is not searched for,
    and trees that are never balanced are not replayed, unless they are chosen. Raises
    `SimallocError` for a trace without events, and `PlanError` for a policy that does not exist.
    """
    if not len(trace):
        raise SimallocError(f"{trace.name} has no events")
    refuse_sample(trace)
    process = recorded(trace.provenance)
    settings, advice = _advised(trace, process, stage)
    both = _all_runs(trace, _policies_of(trace, chosen), scale, realloc, stage)
    possible = next((run for run in both if run.found is not None), None)
    runs = [run for run in both if run.found is None]
    # Equal heaps are in order of their average, then in the order of the catalogue.
    runs.sort(key=lambda run: (run.peak_heap_bytes, fragmentation(run).mean))
    closely = {spell(policy) for policy in (expand_policies(chosen) if chosen else ())}
    uses = _role_of_now(process)
    roles = [(uses, advice.now.candidate.name, advice.now.run)]
    if advice.best is not advice.now:
        best = advice.best
        roles.append(("recommended", best.candidate.name, best.run))
    roles += [("chosen", spell(run.policy), run) for run in both if spell(run.policy) in closely]
    online = [run for *_, run in roles if run.found is None]
    code = look_at_code(trace, online, stage) if len(trace) <= WHOLE_EVENTS else None
    mapped = [_look_closely(trace, *each, code, stage) for each in roles]
    wastes = [*_wastes(trace, mapped, stage), *map(real_waste, natives)]
    with stage(f"{trace.name}: statistics", 1.0) as advance:
        described = describe(trace, progress=advance)
    with stage(f"{trace.name}: lives", len(trace)) as advance:
        spread = spread_of(trace, progress=advance)
    return Findings(
        trace=trace,
        given=given,
        statistics=described,
        spread=spread,
        process=process,
        machine=machine_of(trace.provenance),
        settings=settings,
        advice=advice,
        runs=runs,
        possible=possible,
        natives=natives,
        mapped=mapped,
        wastes=wastes,
        code=code,
    )


def _advised(trace: EventSource, process: Recorded, stage: Stage) -> tuple[list[Setting], Advice]:
    """Return the results of mallocs and settings, and the verdict.

    `simalloc settings` has the same results and verdict, unless the trace has more than
    `WHOLE_EVENTS`.
    """
    python = python_of(trace)
    is_whole = len(trace) <= WHOLE_EVENTS
    tried = candidates(python=python) if is_whole else first_candidates(python=python)
    with stage(f"{trace.name}: settings", events_of_settings(trace, tried)) as advance:
        settings = settings_of(trace, tried, progress=advance)
    with stage(f"{trace.name}: run-to-run variation", events_of_advice(trace)) as advance:
        return settings, advise(
            trace, settings, process, perturb=len(trace) <= SHORT, progress=advance
        )


def _role_of_now(process: Recorded) -> str:
    """Return the role of the present setting, with which all others are compared."""
    if not process.has_model:
        return "nearest model of the current malloc"
    return "current" if process.is_named else "assumed"


def coarser(findings: Findings) -> Findings:
    """Return the same findings with maps of half the columns and rows."""
    mapped = [
        replace(
            one,
            map=one.map.coarser(),
            stays=one.stays.first(_NAMED * len(one.map.heap) // 2),
            code=one.code and one.code.coarser(),
        )
        for one in findings.mapped
    ]
    return replace(findings, mapped=mapped)


def _policies_of(trace: EventSource, chosen: Sequence[str]) -> list[Policy]:
    """Return @default, the best possible and the chosen policies, except unsuitable policies.

    For a long trace, two kinds of policies are unsuitable: those that need the whole trace in
    memory, and those whose time per event grows with the number of free blocks.
    """
    everything = expand_policies(["@default", "best-possible", *chosen])
    if len(trace) <= SHORT_EVENTS:
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
    """Replay a trace under all policies, as many at a time as fit into memory."""
    runs: dict[str, Run] = {}
    with stage(trace.name, len(trace) * len(policies)) as advance:
        for some in _dealt(trace, policies):
            for run in simulate_all(trace, some, scale=scale, realloc=realloc, progress=advance):
                runs[spell(run.policy)] = run
    return [runs[spell(policy)] for policy in policies]


def _dealt(trace: EventSource, policies: Sequence[Policy]) -> list[list[Policy]]:
    """Divide policies into the minimum number of groups that fit into memory.

    On a long trace, a policy that never merges free blocks collects millions of them. Each such
    policy is in a different group.
    """
    hoarders = [one for one in policies if _never_merges(one) and len(trace) > WHOLE_EVENTS]
    together = max(1, _ROOM // (_LIVE_BYTES * max(trace.slots, 1)))
    hands = max(len(hoarders), -(-len(policies) // together))
    dealt = [*hoarders, *(one for one in policies if one not in hoarders)]
    return [dealt[first::hands] for first in range(hands)]


def _never_merges(policy: Policy) -> bool:
    never = Coalescing.NONE, CoalescingTime.NONE
    return getattr(policy.description, "coalescing", None) in never


def _wastes(trace: EventSource, mapped: Sequence[Mapped], stage: Stage) -> list[Waste]:
    """Return the bytes by kind at the peak of each heap, with mechanism and at scale 1."""
    found = [replace(one.waste, policy=one.name) for one in mapped if one.waste is not None]
    policies = [one.run.policy for one in mapped if one.waste is None]
    policies = [one for one in with_and_without_mechanism(policies) if one.description.mechanism]
    runs = _all_runs(trace, policies, 1, "in-place", stage)
    with stage(f"{trace.name}: waste", len(runs) * len(trace)) as advance:
        return [*found, *(waste(trace, run, progress=advance) for run in runs)]


def _look_closely(
    trace: EventSource, role: str, name: str, run: Run, code: Code | None, stage: Stage
) -> Mapped:
    """Return the details of a run. Needs two further replays."""
    search, classes = PinSearch(trace, run, apart=run.resident is not None), FreeClasses(run)
    sums = [WasteSums(trace, run)] if run.scale == 1 else []
    by_code: list[SiteDrawing] = []

    def further(top: float) -> Sequence[SiteDrawing]:
        if code is not None:
            size = {"columns": COLUMNS // 2, "rows": COLUMNS // 4}
            by_code.append(SiteDrawing(trace.in_memory(), run, code.leading, top, **size))
        return by_code

    with stage(f"{trace.name}: map of {name}", 2 * len(trace)) as advance:
        drawn, stays = folded_map(
            trace,
            run,
            [search, classes, *sums],
            columns=COLUMNS,
            rows=COLUMNS // 2,
            named=_NAMED * COLUMNS,
            further=further,
            pages=bool(sums),
            progress=advance,
        )
    return Mapped(
        role=role,
        name=name,
        run=run,
        map=drawn,
        stays=stays,
        pins=search.pins(),
        free=classes.sizes(),
        code=by_code[0].map() if by_code else None,
        waste=sums[0].waste() if sums else None,
    )
