"""`simalloc info`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from simalloc.cli.options import format_option
from simalloc.cli.progress import progress
from simalloc.report import write_table
from simalloc.report.statistics import (
    statistics_record,
    statistics_tables,
    statistics_values_table,
)
from simalloc.trace.catalogue import load
from simalloc.trace.statistics import describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.report import Format


@click.command(
    "info",
    epilog="\b\nExamples:\n"
    "  simalloc info espresso p2c --added 8\n"
    "  simalloc info my-program.npz --format json",
)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option(
    "--added",
    type=click.IntRange(min=0, max=1 << 20),
    default=0,
    show_default=True,
    metavar="BYTES",
    help="Added to each size before it is put into a class (8 in Johnstone & Wilson's table 2).",
)
@format_option
def command(traces: Sequence[str], added: int, table_format: Format) -> None:
    """Print what traces ask for: sizes, lifetimes, peaks, reallocs, threads.

    A TRACE is a file, or the name of a trace that `simalloc traces` lists. docs/statistics.md says
    how each figure is defined.
    """
    with progress("statistics", len(traces)) as advance:
        described = [describe(load(name), added=added, progress=advance) for name in traces]
    if table_format == "json":
        json.dump([statistics_record(one) for one in described], sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    wanted = (
        [statistics_values_table(described)]
        if table_format == "csv"
        else statistics_tables(described)
    )
    for table in wanted:
        write_table(table, table_format, sys.stdout)
        if table is not wanted[-1]:
            sys.stdout.write("\n")
