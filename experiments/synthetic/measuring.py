"""Fragmentation of shipped and of generated, similar traces under sixteen policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.mallocs import Progress
from experiments.shipped import shipped
from simalloc.heap import fragmentation, simulate_all
from simalloc.policy import GROUPS
from simalloc.trace import Trace
from simalloc.trace.catalogue import load
from simalloc.trace.workloads import Synthetic, generate

POLICIES: Final = GROUPS["johnstone-wilson"]
MAX_OBJECTS: Final = 1_000_000
"""Maximum number of a generated trace's objects; programs with fewer objects keep their number."""

LAWS: Final[Mapping[str, str]] = {
    "mean by size": "by-size",
    "resampled by size": "resampled",
}
"""Methods of fitting lifetimes, by the name of their column."""


@dataclass(frozen=True)
class Fitted:
    """Measure #4 of a program under each policy, and of each trace generated from it."""

    program: Mapping[str, float]
    generated: Mapping[str, Mapping[str, float]]

    def ratio(self, law: str) -> float:
        """Return the generated trace's median over policies, as a multiple of the program's."""
        return float(np.median([self.generated[law][p] for p in self.program])) / self.median

    @property
    def median(self) -> float:
        """Median of the program's measure #4 over policies."""
        return float(np.median(list(self.program.values())))

    def agreement(self, law: str) -> float:
        """Return Kendall's tau-b of the order of the policies."""
        ours = np.array(list(self.program.values()))
        theirs = np.array([self.generated[law][policy] for policy in self.program])
        signs = [np.sign(np.subtract.outer(x, x)) for x in (ours, theirs)]
        together = np.sqrt((signs[0] ** 2).sum() * (signs[1] ** 2).sum())
        return float((signs[0] * signs[1]).sum() / together) if together else np.nan


Measured = Mapping[str, Fitted]


def measure(progress: Progress) -> Measured:
    """Replay each shipped program's trace and the traces generated from it."""
    names = [name for name, entry in shipped().items() if entry.kind == "recorded"]
    found: dict[str, Fitted] = {}
    for name in names:
        trace = load(name)
        with progress(name, 1 + len(LAWS)) as advance:
            program = _fragmentation(trace)
            advance(1)
            generated = {}
            for law, lifetimes in LAWS.items():
                generated[law] = _fragmentation(_like(name, trace, lifetimes))
                advance(1)
        found[name] = Fitted(program, generated)
    return found


def _like(name: str, trace: Trace, lifetimes: str) -> Trace:
    described = Synthetic(
        objects=min(trace.objects, MAX_OBJECTS),
        sizes=f"table:trace={name}",
        lifetimes=f"{lifetimes}:trace={name}",
    )
    return generate(described)


def _fragmentation(trace: Trace) -> dict[str, float]:
    """Return measure #4 by policy, as a fraction; each row has its own reallocs."""
    return {run.policy.name: fragmentation(run)[4] for run in simulate_all(trace, POLICIES)}
