"""`simalloc compare`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from simalloc.cli.conditions import condition, runs_in
from simalloc.cli.options import format_option
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
    default="4",
    show_default=True,
    metavar="MEASURE",
    help="1 to 4 for fragmentation, or a column of numbers.",
)
@click.option(
    "--in-a",
    type=condition,
    multiple=True,
    metavar="NAME=VALUE",
    help="Take only these runs of A; see --where of `simalloc results`.",
)
@click.option(
    "--in-b", type=condition, multiple=True, metavar="NAME=VALUE", help="Take only these runs of B."
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="NAME",
    help="Compare runs although they differ in this: policy, scale, realloc, the name of a "
    "parameter, or parameters for all of these. May be given several times. The version of the "
    "code is always ignored.",
)
@click.option("--every", is_flag=True, help="Print the pairs that did not change, too.")
@format_option
def command(
    a: Path,
    b: Path,
    measure: str,
    in_a: tuple[tuple[str, str], ...],
    in_b: tuple[tuple[str, str], ...],
    ignore: tuple[str, ...],
    every: bool,  # noqa: FBT001 - click passes flags by name
    table_format: Format,
) -> None:
    """Print the differences between two result files.

    Runs of the same trace, policy, parameters, scale and realloc rule are compared, whichever
    version computed them. The largest change comes first.
    """
    comparison = compare(runs_in(a, in_a), runs_in(b, in_b), measure, ignore={"code", *ignore})
    write_table(comparison.table(every=every), table_format, sys.stdout)
