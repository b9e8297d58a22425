"""`python -m experiments.ptmalloc`: measure, print the table, write the page."""

import sys

from experiments.ptmalloc.measuring import measure
from experiments.ptmalloc.page import PAGE, page, tables
from experiments.run import page_command, run_command

command = page_command(
    "ptmalloc",
    "Replay the shipped traces through the glibc at hand and through its model: some minutes.",
    measure,
    tables,
    page,
    PAGE,
)

if __name__ == "__main__":
    sys.exit(run_command(command))
