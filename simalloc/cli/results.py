"""`simalloc results`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from simalloc.cli.conditions import condition, runs_in
from simalloc.cli.number import Number
from simalloc.cli.options import format_option
from simalloc.cli.simulation_options import of_option
from simalloc.heap.quantity import Quantity
from simalloc.measure.bootstrap import RESAMPLES
from simalloc.report import Format, write_table
from simalloc.sweep.tables import failures_table, records


@click.command(
    "results",
    epilog="\b\nExamples:\n"
    "  simalloc results results.sqlite --format csv\n"
    "  simalloc results results.sqlite --pivot 3 --sort espresso --format latex\n"
    "  simalloc results results.sqlite --rank 4 --where policy='*-ao*' --where growth=64K",
)
@click.argument("file", type=click.Path(path_type=Path), metavar="RESULTS.sqlite")
@click.option(
    "--pivot",
    metavar="MEASURE",
    help="Print one measure by policy and trace, with averages and deviations.",
)
@click.option(
    "--rank",
    metavar="MEASURE",
    help="Rank the policies by one measure, with confidence intervals.",
)
@click.option(
    "--where",
    "conditions",
    type=condition,
    multiple=True,
    metavar="NAME=VALUE",
    help="Keep runs with this value in a column or parameter. VALUE may be a pattern. "
    "code=latest keeps the runs of each policy's latest code version. Repeatable.",
)
@of_option(
    "Print the measures of mapped or resident bytes, or of the largest free block, if the plan of "
    "the sweep names them."
)
@click.option("--failed", is_flag=True, help="Print the runs that failed, with their errors.")
@click.option(
    "--sort",
    metavar="COLUMN",
    help="Sort a pivot by average, policy or the name of a trace.  [default: average]",
)
@click.option(
    "--confidence",
    type=Number(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals in a ranking.",
)
@click.option(
    "--resamples",
    type=click.IntRange(1),
    default=RESAMPLES,
    show_default=True,
    help="Number of bootstrap samples of the traces for these intervals.",
)
@format_option
def command(
    file: Path,
    pivot: str | None,
    rank: str | None,
    conditions: tuple[tuple[str, str], ...],
    of: Quantity,
    failed: bool,  # noqa: FBT001 - click passes flags by name
    sort: str | None,
    confidence: float,
    resamples: int,
    table_format: Format,
) -> None:
    """Print the results of sweeps: all runs, a pivot, or a ranking.

    MEASURE is a measure of fragmentation (1, 2, 3 or 4), mapped or resident for the peak of these
    bytes, largest-free for the minimum of the largest free block, or a numeric column such as
    peak_heap_bytes or visited_mean. CSV and JSON contain all columns with all
    digits, including the versions and parameters that reproduce each number.
    """
    if sum([pivot is not None, rank is not None, failed]) > 1:
        raise click.UsageError("--pivot, --rank and --failed exclude each other.")
    if sort is not None and pivot is None:
        raise click.UsageError(f"--sort orders a pivot; add --pivot 4 to sort by {sort}.")
    results = runs_in(file, conditions)
    if rank is not None:
        ranking = results.rank(rank, of=of, confidence=confidence, resamples=resamples)
        write_table(ranking.table(), table_format, sys.stdout)
    elif pivot is not None:
        sorted_pivot = results.pivot(pivot, of=of).sorted_by(sort or "average")
        table = sorted_pivot.table(full=table_format in ("csv", "json"))
        write_table(table, table_format, sys.stdout)
    elif failed:
        write_table(failures_table(results.failed), table_format, sys.stdout)
    elif table_format == "json":
        json.dump(records(results), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        table = results.records_table() if table_format == "csv" else results.table(of)
        write_table(table, table_format, sys.stdout)
