"""`python -m experiments.johnstone_wilson`: measure, print the tables, write them to a folder."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from experiments.johnstone_wilson import figure
from experiments.johnstone_wilson.exhibits import exhibits
from experiments.johnstone_wilson.fragmentation import NUMBERS, comparison
from experiments.johnstone_wilson.measuring import measure
from experiments.johnstone_wilson.page import FIGURE, PAGE, page
from experiments.johnstone_wilson.variants import AS_PRINTED
from experiments.output import write_figure
from experiments.run import experiment, out_option, publish, run_command
from simalloc.cli.progress import progress


@experiment("python -m experiments.johnstone_wilson --out out")
@out_option("out", "Markdown, CSV and figure 1")
def command(out: Path) -> None:
    """Reproduce the tables and the figure of Johnstone and Wilson 1998 on the shipped traces.

    Standard output receives the findings and tables 3 and 4, with published beside measured
    figures. The folder receives all tables as Markdown and CSV, and a page that explains the
    differences.
    """
    out.mkdir(parents=True, exist_ok=True)
    results = measure(progress)
    shown = exhibits(results)
    run = results.runs[figure.JOB]
    write_figure(partial(figure.draw, run, results.traces[figure.JOB.program]), out / FIGURE)
    summary = [comparison(number, AS_PRINTED, results.runs).short() for number in NUMBERS]
    publish(shown, "Johnstone & Wilson 1998", page(results, shown), out, PAGE, summary)


if __name__ == "__main__":
    sys.exit(run_command(command))
