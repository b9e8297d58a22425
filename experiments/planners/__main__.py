"""`python -m experiments.planners`: write the page on static planners from the measurements."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from experiments.output import print_tables, write_text
from experiments.planners.measuring import STEPS, kept, measure
from experiments.planners.page import PAGE, page, tables
from experiments.run import experiment, out_option, run_command
from simalloc.cli.progress import progress


@experiment(
    "python -m experiments.planners --out /tmp/page", "python -m experiments.planners --measure"
)
@out_option("docs", "the page")
@click.option(
    "--measure",
    "again",
    is_flag=True,
    help="Search and plan every instance anew first, and keep the figures: some five minutes, at "
    "most a minute for each instance. Install the extra `optimal` before.",
)
def command(out: Path, *, again: bool) -> None:
    """Compare static planners of production compilers with the lowest placement found.

    Standard output receives the tables, and the folder receives the page. The figures are stored in
    a file of the experiment, which --measure writes.
    """
    if again:
        with progress("planners", STEPS) as bar:

            def advance(name: str) -> None:
                bar.text = name
                bar(1)

            measure(advance)
    found = kept()
    out.mkdir(parents=True, exist_ok=True)
    write_text(page(found), out / PAGE)
    print_tables(tables(found).values())
    click.echo(f"Written to {out / PAGE}.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
