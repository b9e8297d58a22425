"""`python -m experiments.mallocs_of_today`: measure, print the tables, write the page."""

import sys

from experiments.mallocs_of_today.page import PAGE, page, pictures, tables
from experiments.mallocs_of_today.running import measure
from experiments.run import page_command, run_command

command = page_command(
    "mallocs_of_today",
    "Replay the shipped traces under models of the mallocs of today: some minutes.",
    measure,
    tables,
    page,
    PAGE,
    pictures,
)

if __name__ == "__main__":
    sys.exit(run_command(command))
