"""`python -m experiments.johnstone_wilson`: measure, print the tables, write them to a folder."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from experiments.johnstone_wilson import figure
from experiments.johnstone_wilson.exhibits import exhibits
from experiments.johnstone_wilson.measuring import measure
from experiments.johnstone_wilson.page import FIGURE, PAGE, page
from experiments.output import print_tables, write_figure, write_tables, write_text
from experiments.run import experiment, out_option, run_command
from simalloc.cli.progress import progress

if TYPE_CHECKING:
    from pathlib import Path


@experiment("python -m experiments.johnstone_wilson --out out")
@out_option("out", "Markdown, CSV and figure 1")
def command(out: Path) -> None:
    """Reproduce the tables and the figure of Johnstone and Wilson 1998 on the shipped traces.

    Tables go to stdout, published figures beside measured ones; the folder gets them as Markdown
    and CSV, with a page on what agrees and what does not.
    """
    out.mkdir(parents=True, exist_ok=True)
    results = measure(progress)
    shown = exhibits(results)
    write_tables(shown, out, "Johnstone & Wilson 1998")
    run = results.runs[figure.JOB]
    write_figure(partial(figure.draw, run, results.traces[figure.JOB.program]), out / FIGURE)
    write_text(page(results, shown), out / PAGE)
    print_tables(exhibit.table for exhibit in shown.values())
    click.echo(f"Written to {out}/; {out / PAGE} says what agrees and what does not.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
