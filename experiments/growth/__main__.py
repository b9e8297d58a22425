"""`python -m experiments.growth`: write the page and its picture from the measurements."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from experiments.growth.findings import Findings
from experiments.growth.measuring import keep, measure_everything
from experiments.growth.page import PAGE, PICTURE, page, picture
from experiments.growth.tables import all_tables
from experiments.output import print_tables, write_text
from experiments.run import experiment, out_option, run_command
from simalloc.cli.progress import progress
from simalloc.files import replacing


@experiment(
    "python -m experiments.growth --out /tmp/page", "python -m experiments.growth --measure"
)
@out_option("docs", "the page; its picture goes to images/ in it")
@click.option(
    "--measure",
    "again",
    is_flag=True,
    help="Replay every shipped trace under every policy and unit anew first, and keep what comes "
    "out: some ten minutes.",
)
def command(out: Path, *, again: bool) -> None:
    """Show the dependence of each policy's waste on the unit by which its heap grows.

    Standard output receives the tables. The folder receives the page with a heap map. Results of
    the replays are stored in a file of the experiment, which --measure writes.
    """
    (out / "images").mkdir(parents=True, exist_ok=True)
    if again:
        keep(measure_everything(progress))
    found = Findings.kept()
    with replacing(out / "images" / PICTURE) as stream:
        stream.write(picture())
    write_text(page(found), out / PAGE)
    print_tables(all_tables(found).values())
    click.echo(f"Written to {out / PAGE}.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
