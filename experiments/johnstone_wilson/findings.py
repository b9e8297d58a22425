"""Single facts for the page of plain words: each a number worked out from the run."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from experiments.johnstone_wilson.fragmentation import NUMBERS, comparison
from experiments.johnstone_wilson.growth_steps import measured_steps, printed_steps
from experiments.johnstone_wilson.growth_unit import ROWS_4K, pinned_live
from experiments.johnstone_wilson.programs import AVAILABLE, GENUINE
from experiments.johnstone_wilson.published import table
from experiments.johnstone_wilson.replays import Job, percent
from experiments.johnstone_wilson.statistics import comparisons
from experiments.johnstone_wilson.variants import AS_PRINTED, VARIANTS
from simalloc.report import Rounded, Table
from simalloc.trace.statistics import live_bytes, lives_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.johnstone_wilson.fragmentation import Runs
    from experiments.johnstone_wilson.measuring import Results
    from experiments.johnstone_wilson.sensitivity import Choice
    from experiments.johnstone_wilson.statistics import Described
    from experiments.johnstone_wilson.variants import Variant
    from simalloc.report.table import Value
    from simalloc.trace import Trace


@dataclass(frozen=True)
class Closeness:
    """How near the measured cells of one table come to print, over the genuine traces."""

    number: int
    variant: Variant
    distances: Sequence[float]
    """Points of percent, without signs."""

    def within(self, points: float) -> int:
        """Return how many cells lie within so many points."""
        return sum(distance <= points for distance in self.distances)


def closeness(runs: Runs) -> list[Closeness]:
    """Return the distances of tables 3 and 4 in both variants."""
    return [
        Closeness(
            number,
            variant,
            [
                abs(measured - printed)
                for _, program, printed, measured in comparison(number, variant, runs).pairs()
                if program in GENUINE
            ],
        )
        for number in NUMBERS
        for variant in VARIANTS
    ]


def closeness_table(runs: Runs) -> Table:
    """Return a row a table and variant."""
    rows: list[tuple[Value, ...]] = [
        (
            f"table {one.number}, {one.variant.key}",
            len(one.distances),
            *(one.within(points) for points in (0.1, 1, 5)),
            Rounded(median(one.distances), 2),
        )
        for one in closeness(runs)
    ]
    columns = ("", "cells", "within 0.1", "within 1", "within 5", "median")
    return Table(
        f"Distance from print, points of percent, {len(GENUINE)} genuine traces", columns, rows
    )


def statistics_gaps(described: Described, names: Sequence[str]) -> dict[int, float]:
    """Return, by table, the widest difference from print in the rows of some programs."""
    return {
        one.published.number: max(
            abs(measured - printed) for row, _, printed, measured in one.pairs() if row in names
        )
        for one in comparisons(described)
    }


def printed_live_at_peak(program: str, policy: str) -> float:
    """Return the live bytes at the peak heap that the paper's run had.

    Tables 3 and 4 divide the same heap, so their quotient is that of the two live figures.
    """
    third, fourth = (table(n).cells[policy][program].value for n in NUMBERS)
    return float(pinned_live(program).mean()) * (1 + fourth / 100) / (1 + third / 100)


def equal_steps(runs: Runs) -> tuple[int, int, int]:
    """Return how many cells of the 4K rows have as many growth steps as printed.

    The answer is (as many, within one, cells) over the genuine traces.
    """
    gaps = [
        abs(printed_steps(program, policy) - measured_steps(program, policy, runs))
        for program in GENUINE
        for policy in ROWS_4K
    ]
    return sum(gap == 0 for gap in gaps), sum(gap <= 1 for gap in gaps), len(gaps)


@dataclass(frozen=True)
class Request:
    """An allocation: its size, and the live bytes just after it."""

    size: int
    live: int


def widest_choice(choice: Choice, runs: Runs) -> float:
    """Return the most by which a parameter's values move measure #3 or #4 of any program."""
    spreads = []
    for program in AVAILABLE:
        for number in NUMBERS:
            values = [percent(runs[Job(program, choice.text(v))], number) for v in choice.values]
            spreads.append(max(values) - min(values))
    return max(spreads)


def early_request(results: Results) -> Request:
    """Return the request of Espresso after which binary buddy's heap has its peak."""
    trace = results.traces["espresso"]
    live = live_bytes(trace, lives_of(trace))
    run = results.runs[Job("espresso", AS_PRINTED.policies["binary-buddy"])]
    at_peak = live == run.live_bytes_at_peak_heap
    return Request(int(trace.size[at_peak].max()), run.live_bytes_at_peak_heap)


def large_sizes(trace: Trace, above: int) -> dict[int, int]:
    """Return the sizes of more than `above` bytes, each with its number of requests."""
    sizes, counts = np.unique(trace.size[trace.size > above], return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))
