"""`python -m experiments.models`: measure, print the tables, write the page."""

import sys

from experiments.models.measuring import measure
from experiments.models.page import PAGE, page, tables
from experiments.run import page_command, run_command

command = page_command(
    "models",
    "Replay the shipped traces through the mallocs that are installed, and through their models: "
    "half an hour.",
    measure,
    tables,
    page,
    PAGE,
)

if __name__ == "__main__":
    sys.exit(run_command(command))
