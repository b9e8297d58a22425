"""`python -m experiments.mallocs_of_today`: measure, print the tables, write the page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from experiments.mallocs_of_today.measuring import measure
from experiments.mallocs_of_today.page import PAGE, page, tables
from experiments.output import print_tables, write_text
from experiments.run import experiment, out_option, run_command
from simalloc.cli.progress import progress

if TYPE_CHECKING:
    from pathlib import Path


@experiment("python -m experiments.mallocs_of_today --out docs")
@out_option("out", "the page")
def command(out: Path) -> None:
    """Replay the shipped traces under models of the mallocs of today.

    The tables go to stdout; the folder gets the page. It takes about a minute.
    """
    out.mkdir(parents=True, exist_ok=True)
    measured = measure(progress)
    shown = tables(measured)
    write_text(page(measured, shown), out / PAGE)
    print_tables(shown.values())
    click.echo(f"Written to {out / PAGE}.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
