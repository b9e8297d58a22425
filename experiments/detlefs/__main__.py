"""`python -m experiments.detlefs`: measure, print the tables, write them to a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.detlefs.exhibits import exhibits
from experiments.detlefs.measuring import measure
from experiments.detlefs.page import PAGE, page
from experiments.run import experiment, out_option, publish, run_command
from simalloc.cli.progress import progress


@experiment("python -m experiments.detlefs --out out/detlefs")
@out_option("out/detlefs", "Markdown and CSV")
def command(out: Path) -> None:
    """Reproduce the tables of Detlefs, Dosser and Zorn 1993 on the shipped traces.

    Standard output receives the tables, with published beside measured figures. The folder receives
    them as Markdown and CSV, with a page on agreements and differences.
    """
    out.mkdir(parents=True, exist_ok=True)
    results = measure(progress)
    shown = exhibits(results)
    publish(shown, "Detlefs, Dosser & Zorn 1993", page(results, shown), out, PAGE)


if __name__ == "__main__":
    sys.exit(run_command(command))
