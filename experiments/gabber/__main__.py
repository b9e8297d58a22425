"""`python -m experiments.gabber`: measure, print the tables, write them to a folder."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from experiments.gabber import figures
from experiments.gabber.choices import DRAWS, measure_choices
from experiments.gabber.exhibits import exhibits
from experiments.gabber.measuring import measure, measure_full, results
from experiments.gabber.page import PAGE, figure_name, page
from experiments.gabber.runs import (
    CHOICES,
    FULL,
    FULL_FIT,
    QUICK,
    GabberRun,
    GabberRuns,
    outcomes_table,
    read_outcomes,
)
from experiments.mallocs import Runs
from experiments.output import write_csv
from experiments.run import experiment, out_option, publish, run_command
from simalloc.cli.progress import progress
from simalloc.report.figures.saving import save_figure


@experiment(
    "python -m experiments.gabber --out out/gabber",
    "python -m experiments.gabber --full --out docs",
)
@out_option("out/gabber", "Markdown, CSV and figures")
@click.option(
    "--measure",
    "again",
    is_flag=True,
    help="Replay a tenth of the generated traces, and the recorded ones, anew first: some minutes.",
)
@click.option(
    "--choices",
    "drawn",
    type=click.Choice(DRAWS),
    help="Replay Hummingbird anew by several seeds, and by other free choices: a twentieth of it, "
    "which takes some minutes, or all, which takes half an hour and 5 GB of memory.",
)
@click.option(
    "--full",
    is_flag=True,
    help="Replay the generated traces in full, 58 and 20 million events, and draw figures 7 to 9: "
    "some minutes and 5 GB of memory.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="With --measure or --full: replay only under this policy; what is kept of the others "
    "stays. May be given several times.",
)
def command(
    out: Path, *, again: bool, drawn: str | None, full: bool, only: tuple[str, ...]
) -> None:
    """Print the tables of Bohra & Gabber 2001 beside results of traces like the paper's.

    Standard output receives the tables, with published beside measured figures. The folder receives
    them as Markdown and CSV, with a page on agreements and differences. Results of the simulations
    are stored in files of the experiment, which --measure, --choices and --full write.
    """
    out.mkdir(parents=True, exist_ok=True)
    if again:
        _keep_outcomes(QUICK, _outcomes(measure(progress, only)), merge=bool(only))
    if drawn:
        for measured_anew in measure_choices(DRAWS[drawn], progress):
            _keep_outcomes(CHOICES, measured_anew, merge=True)
    if full:
        runs, fit = measure_full(progress, only)
        _keep_outcomes(FULL, _outcomes(runs), merge=bool(only))
        write_csv(fit, FULL_FIT)
        if not only:
            _draw(runs, out)
    measured = results()
    shown = exhibits(measured)
    publish(shown, "Bohra & Gabber 2001", page(measured, shown), out, PAGE)


def _outcomes(runs: Runs) -> GabberRuns:
    return {which: GabberRun.of(run) for which, run in runs.items()}


def _keep_outcomes(path: Path, measured: GabberRuns, *, merge: bool) -> None:
    """Store outcomes in a file; with `merge`, keep the file's outcomes of other policies."""
    kept = {**read_outcomes(path), **measured} if merge else measured
    write_csv(outcomes_table(dict(sorted(kept.items()))), path)


def _draw(runs: Runs, out: Path) -> None:
    for number in figures.FIGURES:
        picture = figures.draw(number, runs)
        if picture is not None:
            save_figure(picture, out / figure_name(number))


if __name__ == "__main__":
    sys.exit(run_command(command))
