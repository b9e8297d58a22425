"""Tables 3 and 4: fragmentation of sixteen policies, and the growth unit that fits the figures."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Final

from experiments.johnstone_wilson.comparison import SUMMARIES, Comparison
from experiments.johnstone_wilson.growth_unit import ROWS_4K
from experiments.johnstone_wilson.programs import (
    AVAILABLE,
    GENUINE,
    RECONSTRUCTED,
    heading,
)
from experiments.johnstone_wilson.published import label, table
from experiments.johnstone_wilson.published import programs as programs_of_paper
from experiments.johnstone_wilson.replays import Job, percent
from experiments.johnstone_wilson.variants import VARIANTS, Variant
from simalloc.heap import Run
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

Runs = Mapping[Job, Run]

NUMBERS: Final = (3, 4)
"""Numbers of the fragmentation tables; table 3 prints measure #3 and table 4 measure #4."""

JOBS: Final = tuple(
    Job(program, policy)
    for variant in VARIANTS
    for policy in variant.policies.values()
    for program in AVAILABLE
)


def comparison(number: int, variant: Variant, runs: Runs) -> Comparison:
    """Return table 3 or 4 beside the measurements of the variant's policies."""
    published = table(number)
    measured = {
        row: {
            program: percent(runs[Job(program, variant.policies[row])], number)
            for program in AVAILABLE
        }
        for row in published.rows
    }
    return Comparison(published, measured, "percent", variant.title)


def summaries(number: int, summary: str, runs: Runs) -> Table:
    """Return each policy's average or deviation over the programs.

    The first column is as printed, over all eight programs. The next columns are over the genuine
    traces: one recomputed from the printed cells and one measured per variant, so that all cover
    the same programs. The last columns repeat these with the reconstructed traces included.
    """
    published, function = table(number), SUMMARIES[summary]
    sources: list[Mapping[str, Mapping[str, float]]] = [
        {row: {p: cell.value for p, cell in published.row(row).items()} for row in published.rows},
        *(comparison(number, variant, runs).measured for variant in VARIANTS),
    ]
    groups = (GENUINE, AVAILABLE)
    rows: list[tuple[Value, ...]] = []
    for policy in published.rows:
        printed = published.cells[policy][summary]
        values = [printed.value]
        for programs in groups:
            values += [function([source[policy][one] for one in programs]) for source in sources]
        rows.append((label(policy), *(Rounded(value, printed.decimals) for value in values)))
    names = (
        f"{len(GENUINE)} genuine",
        f"{len(GENUINE)} genuine and {len(RECONSTRUCTED)} reconstructed",
    )
    origins = ("paper", *(variant.unit for variant in VARIANTS))
    columns = [f"{name}\n{origin}" for name in names for origin in origins]
    return Table(
        f"{summary.capitalize()}s of table {number}, percent",
        ("policy", f"all {len(programs_of_paper())}\npaper", *columns),
        rows,
    )


def growth_fit(runs: Runs) -> Table:
    """Return each growth variant's median difference from print in the 4K rows, by program.

    The differences are absolute, in percentage points.
    """
    rows: list[tuple[Value, ...]] = []
    for program in AVAILABLE:
        row: list[Value] = [heading(program).replace("\n", ", ")]
        row += [
            Rounded(_median_difference(program, number, variant, runs), 2)
            for number in NUMBERS
            for variant in VARIANTS
        ]
        rows.append(tuple(row))
    columns = [f"#{number}\n{variant.unit}" for number in NUMBERS for variant in VARIANTS]
    title = f"Median distance from print over the {len(ROWS_4K)} 4K rows, points of percent"
    return Table(title, ("program", *columns), rows)


def _median_difference(program: str, number: int, variant: Variant, runs: Runs) -> float:
    return median(
        abs(measured - printed)
        for policy, name, printed, measured in comparison(number, variant, runs).pairs()
        if name == program and policy in ROWS_4K
    )
