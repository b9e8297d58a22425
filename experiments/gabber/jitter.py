"""Whether PhK's lead outlives small changes of the sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from experiments.gabber.paper import PAPER
from experiments.gabber.programs import CACHES, HUMMINGBIRD, heading
from experiments.gabber.runs import GabberRun, GabberRuns
from experiments.mallocs import at_hand, replay, with_mechanism
from simalloc.report import Rounded, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from experiments.gabber.measuring import Results
    from experiments.mallocs import Progress
    from simalloc.report.table import Value
    from simalloc.trace import Trace

STEPS: Final = (-16, -8, 8, 16)
"""Bytes that a request is larger by, each as likely; no request has less than the smallest step."""
SEEDS: Final = tuple(range(1, 11))

_LEAST: Final = 8
_CLUSTER: Final = 32768


class _Case(NamedTuple):
    """A trace whose sizes are changed, but for those of `kept` bytes."""

    key: str
    label: str
    kept: int | None = None


CASES: Final = (
    _Case(HUMMINGBIRD, heading(HUMMINGBIRD)),
    _Case(HUMMINGBIRD, f"{heading(HUMMINGBIRD)}, its clusters of 32,768 bytes unchanged", _CLUSTER),
    *(_Case(name, heading(name)) for name in CACHES),
)


def jittered(trace: Trace, seed: int, kept: int | None = None) -> Trace:
    """Return a trace with each request of other than 0 and `kept` bytes changed by a drawn step."""
    steps = np.random.default_rng(seed).choice(STEPS, len(trace))
    changed = (trace.size > 0) & (trace.size != (-1 if kept is None else kept))
    size = np.where(changed, np.maximum(trace.size + steps, _LEAST), trace.size)
    return replace(trace, size=size, provenance={})


def measure_jitter(traces: Mapping[str, Trace], progress: Progress) -> GabberRuns:
    """Replay the changed traces under the allocators as they are, one trace at a time in memory."""
    texts = [with_mechanism(name) for name in at_hand(PAPER)]
    outcomes: GabberRuns = {}
    for case in CASES:
        for seed in SEEDS:
            trace = {_key(case, seed): jittered(traces[case.key], seed, case.kept)}
            outcomes |= {
                which: GabberRun.of(run) for which, run in replay(trace, texts, progress).items()
            }
    return outcomes


def _key(case: _Case, seed: int) -> str:
    kept = "" if case.kept is None else f" but for {case.kept} bytes"
    return f"{case.key}, jitter {seed}{kept}"


def leads(outcomes: GabberRuns, keys: Iterable[str]) -> list[float]:
    """Return PhK's lead on some traces.

    That is by how many percentage points its fragmentation at the end is below the best other's; it
    is negative where another wastes less.
    """
    others = [with_mechanism(name) for name in at_hand(PAPER) if name != "phk"]
    return [
        min(outcomes[key, text].at_end for text in others)
        - outcomes[key, with_mechanism("phk")].at_end
        for key in keys
    ]


def jitter_leads(results: Results) -> dict[str, list[float]]:
    """Return the leads on each changed trace, by its label, a number a seed."""
    return {
        case.label: leads(results.jittered, [_key(case, seed) for seed in SEEDS]) for case in CASES
    }


def jitter_table(results: Results) -> Table:
    """Return PhK's lead on each trace as it is, and on the changed ones: mean and range."""
    rows: list[tuple[Value, ...]] = []
    for case, found in zip(CASES, jitter_leads(results).values(), strict=True):
        (unchanged,) = leads(results.outcomes, [case.key])
        spread = (sum(found) / len(found), min(found), max(found))
        rows.append(
            (
                case.label.replace("\n", ", "),
                *(Rounded(lead, 1) for lead in (unchanged, *spread)),
                f"{sum(lead > 0 for lead in found)} of {len(found)}",
            )
        )
    columns = ("", "unchanged", "changed, mean", "least", "most", "PhK is first")
    title = "PhK's lead over the best of the others: fragmentation at the end, percentage points"
    return Table(title, columns, rows)
