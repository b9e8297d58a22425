"""`python -m experiments.rezaei`: measure, print the tables, write the page and its figures."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from experiments.output import print_tables, write_figure, write_text
from experiments.rezaei.figures import draw
from experiments.rezaei.measuring import measure
from experiments.rezaei.page import FIGURES, PAGE, exhibits, page
from experiments.run import experiment, out_option, run_command
from simalloc.cli.progress import progress

if TYPE_CHECKING:
    from pathlib import Path


@experiment("python -m experiments.rezaei --out out")
@out_option("out", "the page and its figures")
def command(out: Path) -> None:
    """Measure the allocators of Rezaei and others 2016 on traces with the paper's statistics.

    Tables go to stdout; the folder gets the figures, and the page with what agrees and what does
    not.
    """
    out.mkdir(parents=True, exist_ok=True)
    results = measure(progress)
    tables = exhibits(results)
    write_figure(partial(draw, results), out / FIGURES)
    write_text(page(results, tables), out / PAGE)
    print_tables(tables.values())
    click.echo(f"Written to {out}/; {out / PAGE} says what agrees and what does not.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
