"""`python -m experiments.gabber`: measure, print the tables, write them to a folder."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import click

from experiments.gabber import figures
from experiments.gabber.exhibits import exhibits
from experiments.gabber.measuring import measure, measure_full
from experiments.gabber.outcome import FULL, FULL_FIT, Outcome, outcomes_table
from experiments.gabber.page import PAGE, figure_name, page
from experiments.output import write_tables, write_text
from experiments.run import run_command
from simalloc.cli.progress import progress
from simalloc.report import write_table
from simalloc.report.figures.saving import save_figure


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExamples:\n"
    "  python -m experiments.gabber --out out/gabber\n"
    "  python -m experiments.gabber --full --out docs",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("out/gabber"),
    show_default=True,
    help="The folder for Markdown, CSV and figures; it is made if need be.",
)
@click.option(
    "--full",
    is_flag=True,
    help="Replay the generated traces in full, 58 and 20 million events, which takes some minutes "
    "and 5 GB of memory: keep what comes out, which the page shows, and draw figures 7 to 9.",
)
def command(out: Path, *, full: bool) -> None:
    """Reproduce the tables and figures of Gabber and others 2001 on traces generated like theirs.

    Tables go to stdout, published figures beside measured ones; the folder gets them as Markdown
    and CSV, with a page on what agrees and what does not.
    """
    out.mkdir(parents=True, exist_ok=True)
    if full:
        _replay_full(out)
        return
    results = measure(progress)
    shown = exhibits(results)
    write_tables(shown, out, "Gabber et al. 2001")
    write_text(page(results, shown), out / PAGE)
    for exhibit in shown.values():
        write_table(exhibit.table, "table", sys.stdout)
        sys.stdout.write("\n")
    click.echo(f"Written to {out}/; {out / PAGE} says what agrees and what does not.", err=True)


def _replay_full(out: Path) -> None:
    """Replay the full traces, keep what came out and draw the figures."""
    runs, fit = measure_full(progress)
    outcomes = outcomes_table({which: Outcome.of(run) for which, run in runs.items()})
    for table, path in ((outcomes, FULL), (fit, FULL_FIT)):
        write_table(table, "table", sys.stdout)
        stream = StringIO()
        write_table(table, "csv", stream)
        write_text(stream.getvalue(), path)
    for number in figures.FIGURES:
        picture = figures.draw(number, runs)
        if picture is not None:
            save_figure(picture, out / figure_name(number))
    click.echo(f"Outcomes are in {FULL}, figures in {out}/.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
