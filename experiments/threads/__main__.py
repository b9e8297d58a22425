"""`python -m experiments.threads`: measure, print the table, write the page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from experiments.output import print_tables, write_text
from experiments.run import experiment, out_option, run_command
from experiments.threads.measuring import beside, measure
from experiments.threads.page import PAGE, page, processes_table, table
from simalloc.cli.progress import progress

if TYPE_CHECKING:
    from pathlib import Path


@experiment("python -m experiments.threads --out docs")
@out_option("out", "the page")
def command(out: Path) -> None:
    """Replay the programs with threads through the glibc at hand and through its model.

    The tables go to stdout; the folder gets the page. What the programs themselves hold was
    measured before (processes.csv; `python -m experiments.threads.running` measures it again).
    It takes some minutes.
    """
    out.mkdir(parents=True, exist_ok=True)
    compared = measure(progress)
    found = beside(compared)
    shown, held = table(compared), processes_table(found)
    write_text(page(compared, shown, found, held), out / PAGE)
    print_tables([shown, held])
    click.echo(f"Written to {out / PAGE}.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
