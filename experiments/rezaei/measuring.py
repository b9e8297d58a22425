"""All measurements of the experiment: every allocator on every trace, sizes not multiplied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from experiments.mallocs import Progress
from experiments.rezaei.generated import generate
from experiments.rezaei.published import programs
from simalloc.heap import Run, simulate_all
from simalloc.policy import GROUPS
from simalloc.trace import Op, Trace, read_trace
from simalloc.trace.catalogue import load

SEED: Final = 1
SCALE: Final = 1

SIMPLE: Final = ("sqf-ff", "sqf-bf", "abt-ff", "abt-bf", "abt-better")
COALESCING: Final = tuple(f"{name}wc" for name in SIMPLE)
SEGREGATED: Final = ("sgf-ff", "sgf-bf", "sbt-ff", "sbt-bf", "sbt-better")
ALLOCATORS: Final = SIMPLE + COALESCING + SEGREGATED
"""Allocators in the order of the paper's figure 3, with better fit last in each kind. The paper has
twelve allocators. For a tree it has one fit besides first fit, which it calls better fit in some
places and BF in others. We measure both better fit and best fit; `Results.fit` selects the one that
represents the paper's."""

SEGREGATED_COALESCING: Final = (
    *(f"{name}:coalescing=all" for name in ("sgf-ff", "sgf-bf")),
    *(f"{name}:coalescing=one" for name in ("sbt-ff", "sbt-better")),
)
SBT_BETTER_WC: Final = "sbt-better:coalescing=one"
SBT_WC: Final = ("sbt-ff:coalescing=one", SBT_BETTER_WC)
"""Allocators of eight trees with coalescing, which are in the paper's text but not its figures."""
MERGED: Final = ("abt-ffwc:coalescing=all", "sbt-better:coalescing=all")
NINE: Final = "sbt-better:trees=9,coalescing=one"
REBALANCED: Final = tuple(f"abt-ffwc:rebalance={period}" for period in (10_000, 1_000, 100))
VARIANTS: Final = (*SEGREGATED_COALESCING, NINE, *MERGED)
SHAPED: Final = ("abt-ffwc", *REBALANCED, SBT_BETTER_WC, "sqf-ffwc")
"""Policies that are replayed with different orders of frees in a collection."""

SWEPT: Final = "javac, swept (generated)"
IN_ANY_ORDER: Final = "javac (generated)"
RECORDED: Final = ("javap", "make", "p2c")
"""Traces of real programs: one in Java, and two in C from Johnstone & Wilson's time."""

assert set(GROUPS["rezaei"]) >= set(ALLOCATORS)


@dataclass(frozen=True)
class Results:
    """The traces by name, and each allocator's run on each trace, by trace and policy.

    Medians are over the traces in `names`. `fit` is our reading of the paper's BF of a tree:
    `better` for better fit or `bf` for best fit.
    """

    traces: Mapping[str, Trace]
    runs: Mapping[tuple[str, str], Run]
    names: tuple[str, ...]
    fit: str = "better"

    @property
    def simple(self) -> tuple[str, ...]:
        """The paper's four allocators without coalescing and segregation."""
        return ("sqf-ff", "sqf-bf", "abt-ff", f"abt-{self.fit}")

    @property
    def coalescing(self) -> tuple[str, ...]:
        """The paper's four allocators with coalescing."""
        return tuple(f"{name}wc" for name in self.simple)

    @property
    def segregated(self) -> tuple[str, ...]:
        """The paper's four allocators with segregation."""
        return ("sgf-ff", "sgf-bf", "sbt-ff", f"sbt-{self.fit}")

    @property
    def twelve(self) -> tuple[str, ...]:
        """The twelve allocators of the paper's figure 3, with `fit` for its BF of a tree."""
        return self.simple + self.coalescing + self.segregated

    def over(self, *names: str) -> Results:
        """Return the results with medians over other traces."""
        return replace(self, names=names)

    def read_as(self, fit: str) -> Results:
        """Return the results with another fit for the paper's BF of a tree."""
        return replace(self, fit=fit)

    def run(self, trace: str, policy: str) -> Run:
        """Return the run of a policy on a trace."""
        return self.runs[trace, policy]

    def median(self, policy: str, figure: Callable[[Run], float]) -> float:
        """Return the median of a figure over the examined traces."""
        return float(np.median([figure(self.run(name, policy)) for name in self.names]))

    def frees(self, trace: str) -> int:
        """Return the number of deallocations of a trace."""
        return int(np.count_nonzero(self.traces[trace].op == Op.FREE))


def policies(trace: str) -> tuple[str, ...]:
    """Return the policies to replay on a trace, each once."""
    if trace == SWEPT:
        return SHAPED
    if trace in RECORDED:
        return (*ALLOCATORS, *SBT_WC)
    return (*ALLOCATORS, *VARIANTS, *(REBALANCED if trace == IN_ANY_ORDER else ()))


def generated() -> tuple[str, ...]:
    """Return the names of the eight traces with the statistics of table 2."""
    return tuple(f"{program.name} (generated)" for program in programs())


def load_traces() -> dict[str, Trace]:
    """Return every trace by its name."""
    made = {f"{program.name} (generated)": generate(program, SEED) for program in programs()}
    javac = next(program for program in programs() if program.name == "javac")
    shipped = read_trace(Path(__file__).parent / "traces" / "javap.npz")
    return {
        **made,
        SWEPT: generate(javac, SEED, sweep=True),
        "javap": shipped,
        **{name: load(name) for name in RECORDED[1:]},
    }


def measure(progress: Progress) -> Results:
    """Run every simulation; `progress` is `simalloc.cli.progress.progress` or compatible."""
    traces = load_traces()
    runs: dict[tuple[str, str], Run] = {}
    total = sum(len(policies(name)) * len(trace) for name, trace in traces.items())
    with progress("Simulating", total) as advance:
        for name, trace in traces.items():
            texts = policies(name)
            done = simulate_all(trace, texts, scale=SCALE, progress=advance)
            runs |= {(name, text): run for text, run in zip(texts, done, strict=True)}
    return Results(traces, runs, generated())


def measure_seed(seed: int, advance: Callable[[float], None]) -> Results:
    """Replay the eight programs, drawn with a seed, under all policies of the statements."""
    texts = (*ALLOCATORS, *SBT_WC)
    traces = {f"{program.name} (generated)": generate(program, seed) for program in programs()}
    runs: dict[tuple[str, str], Run] = {}
    for name, trace in traces.items():
        done = simulate_all(trace, texts, scale=SCALE, progress=advance)
        runs |= {(name, text): run for text, run in zip(texts, done, strict=True)}
    return Results(traces, runs, generated())
