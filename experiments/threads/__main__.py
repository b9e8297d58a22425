"""`python -m experiments.threads`: measure, print the table, write the page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from experiments.output import write_text
from experiments.run import experiment, out_option, run_command
from experiments.threads.measuring import measure
from experiments.threads.page import PAGE, page, table
from simalloc.cli.progress import progress
from simalloc.report import write_table

if TYPE_CHECKING:
    from pathlib import Path


@experiment("python -m experiments.threads --out docs")
@out_option("out", "the page")
def command(out: Path) -> None:
    """Replay the programs with threads through the glibc at hand and through its model.

    The table goes to stdout; the folder gets the page. It takes some minutes.
    """
    out.mkdir(parents=True, exist_ok=True)
    compared = measure(progress)
    shown = table(compared)
    write_text(page(compared, shown), out / PAGE)
    write_table(shown, "table", sys.stdout)
    click.echo(f"Written to {out / PAGE}.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
