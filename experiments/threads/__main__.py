"""`python -m experiments.threads`: measure, print the tables, write the page."""

import sys

from experiments.run import page_command, run_command
from experiments.threads.measuring import measure
from experiments.threads.page import PAGE, page, pictures, tables

command = page_command(
    "threads",
    "Replay programs with threads through the glibc at hand and through its model: some minutes.",
    measure,
    tables,
    page,
    PAGE,
    pictures,
)

if __name__ == "__main__":
    sys.exit(run_command(command))
