"""`python -m experiments.ellermann`: measure, print the tables, write the page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from experiments.ellermann.measuring import measure
from experiments.ellermann.page import PAGE, exhibits, page
from experiments.output import print_tables, write_text
from experiments.run import experiment, out_option, run_command
from simalloc.cli.progress import progress

if TYPE_CHECKING:
    from pathlib import Path


@experiment("python -m experiments.ellermann --out out")
@out_option("out", "the page")
def command(out: Path) -> None:
    """Measure the methods of Ellermann 2014 on the paper's two workloads.

    Tables go to stdout; the folder gets the page, with why next fit lost to first fit there.
    """
    out.mkdir(parents=True, exist_ok=True)
    results = measure(progress)
    tables = exhibits(results)
    write_text(page(results, tables), out / PAGE)
    print_tables(tables.values())
    click.echo(f"Written to {out}/; {out / PAGE} says what they tell.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
