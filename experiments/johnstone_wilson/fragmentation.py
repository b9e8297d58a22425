"""Tables 3 and 4: fragmentation of sixteen policies, and which growth unit they speak for."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING, Final

from experiments.johnstone_wilson.comparison import SUMMARIES, Comparison
from experiments.johnstone_wilson.growth_unit import ROWS_4K
from experiments.johnstone_wilson.programs import AVAILABLE, MISSING, heading
from experiments.johnstone_wilson.published import label, table
from experiments.johnstone_wilson.replays import Job, percent
from experiments.johnstone_wilson.variants import VARIANTS, Variant
from simalloc.heap import Run
from simalloc.report import Rounded, Table

if TYPE_CHECKING:
    from simalloc.report.table import Value

Runs = Mapping[Job, Run]

NUMBERS: Final = (3, 4)
"""The tables of fragmentation; each prints the measure of its own number."""

JOBS: Final = tuple(
    Job(program, policy)
    for variant in VARIANTS
    for policy in variant.policies.values()
    for program in AVAILABLE
)


def comparison(number: int, variant: Variant, runs: Runs) -> Comparison:
    """Return table 3 or 4 beside what the variant's policies give."""
    published = table(number)
    measured = {
        row: {
            program: percent(runs[Job(program, variant.policies[row])], number)
            for program in AVAILABLE
        }
        for row in published.rows
    }
    return Comparison(published, measured, "percent", variant.title)


def summaries(number: int, runs: Runs) -> Table:
    """Return each policy's average and deviation over the programs.

    First as printed, over all eight; then recomputed from the printed cells of the programs that
    were measured, so that like stands beside like; then measured, a column a variant.
    """
    published = table(number)
    measured = [comparison(number, variant, runs).measured for variant in VARIANTS]
    rows: list[tuple[Value, ...]] = []
    for policy in published.rows:
        row: list[Value] = [label(policy)]
        same = [published.cells[policy][program].value for program in AVAILABLE]
        for summary, function in SUMMARIES.items():
            printed = published.cells[policy][summary]
            values = [printed.value, function(same)]
            values += [function(list(variant[policy].values())) for variant in measured]
            row += [Rounded(value, printed.decimals) for value in values]
        rows.append(tuple(row))
    sources = ("paper, 8", f"paper, {len(AVAILABLE)}", *(variant.unit for variant in VARIANTS))
    columns = [f"{summary}\n{source}" for summary in SUMMARIES for source in sources]
    title = f"Averages and deviations of table {number}, percent"
    return Table(title, ("policy", *columns), rows, tuple(MISSING.values()))


def growth_fit(runs: Runs) -> Table:
    """Return how far each growth variant lies from print in the 4K rows, program by program.

    Points of percent: the median of the differences without their signs.
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
