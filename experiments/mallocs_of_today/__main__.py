"""`python -m experiments.mallocs_of_today`: measure, print the tables, write the page."""

import sys

from experiments.mallocs_of_today.measuring import measure
from experiments.mallocs_of_today.page import PAGE, page, tables
from experiments.run import page_command, run_command

command = page_command(
    "mallocs_of_today",
    "Replay the shipped traces under models of the mallocs of today: about a minute.",
    measure,
    tables,
    page,
    PAGE,
)

if __name__ == "__main__":
    sys.exit(run_command(command))
