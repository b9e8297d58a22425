"""All measurements, on a tenth of the generated traces and in full, stored in files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from experiments.gabber.choices import whole_by_first_seed
from experiments.gabber.fit import prose_table
from experiments.gabber.paper import PAPER
from experiments.gabber.programs import (
    CACHES,
    GENERATED,
    HUMMINGBIRD,
    generate,
    load_traces,
)
from experiments.gabber.runs import CHOICES, FULL, QUICK, GabberRuns, read_outcomes
from experiments.mallocs import Progress, Runs, at_hand, both_ways, replay, with_mechanism
from simalloc.report import Table
from simalloc.report.table import spell
from simalloc.trace import Trace

PLAIN: Final = ("first-fit-ao", "best-fit-ao", "next-fit-ao", "first-fit-lifo", "best-fit-lifo")
"""Policies without the mechanism of an allocator, which separate policy from mechanism."""

VARIANTS: Final = {
    "as it is": "phk",
    "pages of chunks in the order of addresses": "phk:chunk_pages=address",
    "the newest page of chunks first": "phk:chunk_pages=newest",
    "a page kept at the break": "phk:keep=4K",
    "nothing returned": "phk:keep=1G",
    "pages of 2 KiB": "phk:page=2K",
    "pages of 8 KiB": "phk:page=8K",
}
"""PhK's malloc, policy alone, with one rule changed at a time."""
VARIED: Final = (HUMMINGBIRD, *CACHES)
"""Traces on which the variants are replayed."""


@dataclass(frozen=True)
class Results:
    """The generated traces by key, and the outcomes of the simulations.

    The outcomes are of the quick traces, of the full traces, and of the seeds and free choices.
    """

    traces: Mapping[str, Trace]
    outcomes: GabberRuns
    full: GabberRuns
    chosen: GabberRuns


def results() -> Results:
    """Generate a tenth of Hummingbird and Emacs, and read the stored outcomes."""
    traces = {key: generate(key) for key in GENERATED}
    quick, full, chosen = map(read_outcomes, (QUICK, FULL, CHOICES))
    return Results(traces, quick, full, chosen | whole_by_first_seed(full))


def measure(progress: Progress, only: Collection[str] = ()) -> Runs:
    """Replay a tenth of Hummingbird and Emacs, and the corpus programs, under all policies.

    `only` restricts the replay to the policies of the experiment with these names.
    """
    runs: Runs = {}
    for key, trace in load_traces().items():
        variants = VARIANTS.values() if key in VARIED else ()
        texts = list(dict.fromkeys([*both_ways(at_hand(PAPER)), *PLAIN, *variants]))
        runs |= replay({key: trace}, _chosen(texts, only), progress)
    return runs


def _chosen(texts: Iterable[str], only: Collection[str]) -> list[str]:
    return [text for text in texts if not only or text.partition(":")[0] in only]


def measure_full(progress: Progress, only: Collection[str] = ()) -> tuple[Runs, Table]:
    """Generate Hummingbird and Emacs in full length and replay them, one at a time in memory.

    The table shows the differences of the traces from the prose. `only` is as in `measure`.
    """
    runs: Runs = {}
    fits = []
    for key in GENERATED:
        trace = {key: generate(key, full=True)}
        fits.append(prose_table(trace))
        texts = [*map(with_mechanism, at_hand(PAPER)), *PLAIN]
        runs |= replay(trace, _chosen(texts, only), progress)
    rows = [tuple(map(spell, row)) for fit in fits for row in fit.rows]
    return runs, replace(fits[0], rows=rows)
