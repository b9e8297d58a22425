"""`python -m experiments.bounds`: measure, and write the page and its figure to a folder."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from experiments.bounds.figure import draw
from experiments.bounds.measuring import possible, rows_to_play, worst
from experiments.bounds.page import FIGURE, PAGE, page
from experiments.output import write_figure, write_text
from experiments.run import experiment, out_option, run_command
from simalloc.cli.progress import progress
from simalloc.trace.catalogue import catalogue

if TYPE_CHECKING:
    from pathlib import Path


@experiment("python -m experiments.bounds --out out")
@out_option("out", "the page and its figure")
def command(out: Path) -> None:
    """Measure how small the heaps of all shipped traces could be, and how bad it can get.

    This takes some minutes.
    """
    out.mkdir(parents=True, exist_ok=True)
    names, policies = list(catalogue()), rows_to_play()
    rows, played = [], []
    with progress("bounds", len(names) + len(policies)) as advance:
        for name in names:
            rows.append(possible(name))
            advance(1)
        for policy in policies:
            played.append(worst(policy))
            advance(1)
    write_figure(partial(draw, rows), out / FIGURE)
    write_text(page(rows, played), out / PAGE)
    click.echo(f"Written to {out / PAGE}.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
