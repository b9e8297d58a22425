"""Comparison of two recordings of a program, before and after a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from simalloc.advice import policy_in_use, recorded
from simalloc.heap import Run, fragmentation, simulate
from simalloc.measure.sites import profile_of, rows_of
from simalloc.policy import AnyPolicy, Policy, find_policy
from simalloc.trace import Trace

SITE_MEASURES = ("live_bytes", "final_bytes", "allocations")
"""Measures of a call site: live bytes at the peak and at the end, and the number of allocations."""


@dataclass(frozen=True)
class Change:
    """A figure before and after; None on a side that lacks it."""

    name: str
    before: float | None
    after: float | None

    @property
    def change(self) -> float | None:
        """Increase of the figure, or None if a side lacks it."""
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True)
class BeforeAfter:
    """Comparison of two traces: overall figures, and the figures of each function that differs.

    `policies` are the policies of the replays: the model of the malloc that served the program, or
    a requested policy. `sites` is None if a trace has no call sites. Sites are ordered by the
    change of their live bytes at the peak, the largest first, and each has a change for each of
    `SITE_MEASURES`.
    """

    before: str
    after: str
    policies: tuple[str, str]
    figures: Sequence[Change]
    sites: Sequence[tuple[str, Sequence[Change]]] | None


def before_after(
    before: Trace,
    after: Trace,
    policy: AnyPolicy | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> BeforeAfter:
    """Return the changes between two traces.

    Both traces are replayed under `policy`, or by default each under the model of the malloc that
    served it. `progress` is called with the number of events done since its last call. Raises
    `PolicyError` for an unknown policy.
    """
    runs = [
        simulate(trace, policy or policy_in_use(trace), resident=True, progress=progress)
        for trace in (before, after)
    ]
    first, second = (_figures(trace, run) for trace, run in zip((before, after), runs, strict=True))
    return BeforeAfter(
        before.name,
        after.name,
        (_name(runs[0].policy), _name(runs[1].policy)),
        [Change(name, first[name], second[name]) for name in first],
        None if before.site is None or after.site is None else _sites(before, after),
    )


def _name(policy: Policy) -> str:
    """Return the name of a policy, with the policy below it."""
    below = getattr(policy.description, "below", "")
    return f"{policy.name} over {find_policy(below).name}" if below else policy.name


def _figures(trace: Trace, run: Run) -> Mapping[str, float | None]:
    """Return the figures of a trace, by their printed names."""
    assert run.resident is not None, "the run was simulated with resident=True"
    process = recorded(trace.provenance)
    measures, of_pages = fragmentation(run), fragmentation(run, "resident")
    line = run.mapped.timeline
    return {
        "events": run.events,
        "objects": run.objects,
        "live bytes, peak": run.max_live_bytes,
        "live bytes, mean": float((line.live_low + line.live_high).mean() / 2) if run.events else 0,
        "live bytes, end": run.final_live_bytes,
        "resident, peak": run.resident.peak_bytes,
        "resident, mean": run.resident.mean_bytes,
        "resident, end": run.resident.final_bytes,
        "mapped, peak": run.mapped.peak_bytes,
        "mapped, end": run.mapped.final_bytes,
        "fragmentation #1 %": 100 * measures[1],
        "fragmentation #4 %": 100 * measures[4],
        "of resident, #1 %": 100 * of_pages[1],
        "of resident, #4 %": 100 * of_pages[4],
        "the process, peak": int(process.resident.max()) if process.has_samples else None,
        "the process, end": int(process.resident[-1]) if process.has_samples else None,
    }


def _sites(before: Trace, after: Trace) -> list[tuple[str, Sequence[Change]]]:
    """Return the changes of each function; the largest change of live bytes comes first."""
    found = [
        {
            row.frame.function: row.values
            for row in rows_of(profile_of(trace), "function", "live_bytes")
        }
        for trace in (before, after)
    ]
    rows = [
        (
            function,
            [
                Change(name, *(values.get(function, {}).get(name, 0) for values in found))
                for name in SITE_MEASURES
            ],
        )
        for function in dict.fromkeys([*found[0], *found[1]])
    ]
    rows.sort(key=lambda row: [-abs(each.change or 0) for each in row[1]])
    return [row for row in rows if any(each.change for each in row[1])]
