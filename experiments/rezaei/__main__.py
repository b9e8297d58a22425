"""`python -m experiments.rezaei`: measure, print the tables, write the page and its figures."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from experiments.output import print_tables, write_figure, write_text
from experiments.rezaei.figures import draw
from experiments.rezaei.measuring import measure
from experiments.rezaei.page import FIGURES, PAGE, exhibits, page
from experiments.rezaei.seeds import SEEDS, keep, kept, measure_seeds
from experiments.run import experiment, out_option, run_command
from simalloc.cli.progress import progress


@experiment("python -m experiments.rezaei --out out")
@out_option("out", "the page and its figures")
@click.option(
    "--seeds",
    "again",
    is_flag=True,
    help="Draw the eight traces with twenty seeds and replay them anew first, and keep what comes "
    "out: some minutes.",
)
def command(out: Path, *, again: bool) -> None:
    """Measure the allocators of Rezaei & Kavi 2016 on traces with the paper's statistics.

    Standard output receives the tables. The folder receives the figures, and a page on agreements
    and differences.
    """
    out.mkdir(parents=True, exist_ok=True)
    if again:
        with progress("seeds", len(SEEDS)) as advance:
            keep(measure_seeds(advance))
    results = measure(progress)
    found = kept()
    tables = exhibits(results, found)
    write_figure(partial(draw, results), out / FIGURES)
    write_text(page(results, found, tables), out / PAGE)
    print_tables(tables.values())
    click.echo(f"Written to {out}/; {out / PAGE} says what agrees and what does not.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
