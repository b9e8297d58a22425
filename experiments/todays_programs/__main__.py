"""`python -m experiments.todays_programs`: measure, print the tables, write the page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from experiments.output import print_tables, write_text
from experiments.run import experiment, out_option, run_command
from experiments.todays_programs.measuring import measure
from experiments.todays_programs.page import PAGE, page
from experiments.todays_programs.pictures import pictures
from experiments.todays_programs.tables import all_tables
from simalloc.cli.progress import progress
from simalloc.files import replacing

if TYPE_CHECKING:
    from pathlib import Path


@experiment("python -m experiments.todays_programs --out /tmp/page")
@out_option("docs", "the page; its pictures go to images/ in it")
def command(out: Path) -> None:
    """Replay programs of today under Johnstone and Wilson's policies, and explain the worst.

    Tables go to stdout; the folder gets the page with its heap maps. It takes about a minute on
    two cores.
    """
    (out / "images").mkdir(parents=True, exist_ok=True)
    results = measure(progress)
    tables = all_tables(results)
    for name, image in pictures(results):
        with replacing(out / "images" / name) as stream:
            stream.write(image)
    write_text(page(results, tables), out / PAGE)
    print_tables(tables.values())
    click.echo(f"Written to {out / PAGE}.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
