"""All that is measured: in a quick run a tenth of the generated traces, and all of them in full."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from experiments.gabber.fit import prose_table
from experiments.gabber.outcome import Outcome, Outcomes, read_full
from experiments.gabber.paper import PAPER
from experiments.gabber.programs import GENERATED, generate, load_traces, other_seeds
from experiments.mallocs import at_hand, both_ways, replay, with_mechanism
from simalloc.report.table import spell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from experiments.mallocs import Progress, Runs
    from simalloc.report import Table
    from simalloc.trace import Trace

PLAIN: Final = ("first-fit-ao", "best-fit-ao", "next-fit-ao", "first-fit-lifo", "best-fit-lifo")
"""Policies without an allocator around them, to tell what in an allocator is its policy."""


@dataclass(frozen=True)
class Results:
    """The traces by key, what came out of every simulation, and what is kept of full traces."""

    traces: Mapping[str, Trace]
    outcomes: Outcomes
    full: Outcomes


def measure(progress: Progress) -> Results:
    """Generate a tenth of Hummingbird and Emacs, load the corpus' programs, and replay them all.

    Hummingbird from other seeds is for the allocators as they are.
    """
    names = at_hand(PAPER)
    traces, others = load_traces(), other_seeds()
    runs = replay(traces, [*both_ways(names), *PLAIN], progress)
    runs |= replay(others, list(map(with_mechanism, names)), progress)
    outcomes = {which: Outcome.of(run) for which, run in runs.items()}
    return Results(traces, outcomes, read_full())


def measure_full(progress: Progress) -> tuple[Runs, Table]:
    """Generate Hummingbird and Emacs in full length and replay them, one at a time in memory.

    The table says how near the traces come to the prose.
    """
    texts = [*map(with_mechanism, at_hand(PAPER)), *PLAIN]
    runs: Runs = {}
    fits = []
    for key in GENERATED:
        trace = {key: generate(key, full=True)}
        fits.append(prose_table(trace, share=1.0))
        runs |= replay(trace, texts, progress)
    rows = [tuple(map(spell, row)) for fit in fits for row in fit.rows]
    return runs, replace(fits[0], rows=rows)
