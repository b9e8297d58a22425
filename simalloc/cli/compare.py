"""`simalloc compare`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from simalloc.cli.conditions import condition, runs_in
from simalloc.cli.options import format_option
from simalloc.cli.simulation_options import of_option
from simalloc.heap.quantity import Quantity
from simalloc.report import Format, write_table
from simalloc.sweep import compare


@click.command(
    "compare",
    epilog="\b\nExamples:\n"
    "  simalloc compare old.sqlite new.sqlite\n"
    "  simalloc compare r.sqlite r.sqlite --in-a growth=4K --in-b growth=64K --ignore growth",
)
@click.argument("a", type=click.Path(path_type=Path), metavar="A.sqlite")
@click.argument("b", type=click.Path(path_type=Path), metavar="B.sqlite")
@click.option(
    "--measure",
    default=None,
    metavar="MEASURE",
    help="Measure to compare, as for `simalloc results`. Default: 4, or largest-free with --of "
    "largest-free.",
)
@of_option(
    "Compare the fragmentation of mapped or resident bytes, or the minimum of the largest free "
    "block."
)
@click.option(
    "--in-a",
    type=condition,
    multiple=True,
    metavar="NAME=VALUE",
    help="Use only these runs of A, as with --where of `simalloc results`. Repeatable.",
)
@click.option(
    "--in-b",
    type=condition,
    multiple=True,
    metavar="NAME=VALUE",
    help="Use only these runs of B. Repeatable.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="NAME",
    help="Compare runs although they differ in NAME: policy, scale, realloc, the name of a "
    "parameter, or `parameters` for all parameters. Repeatable. The version of the code is always "
    "ignored.",
)
@click.option("--every", is_flag=True, help="Also print pairs without a change.")
@format_option
def command(
    a: Path,
    b: Path,
    measure: str | None,
    of: Quantity,
    in_a: tuple[tuple[str, str], ...],
    in_b: tuple[tuple[str, str], ...],
    ignore: tuple[str, ...],
    every: bool,  # noqa: FBT001 - click passes flags by name
    table_format: Format,
) -> None:
    """Print the differences between two result files.

    Two runs are compared if they have the same trace, policy, parameters, scale and realloc rule.
    The version of the code may differ. The largest change is printed first.
    """
    measure = measure or (of if of == "largest-free" else "4")
    comparison = compare(
        runs_in(a, in_a), runs_in(b, in_b), measure, of=of, ignore={"code", *ignore}
    )
    write_table(comparison.table(every=every), table_format, sys.stdout)
