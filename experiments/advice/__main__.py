"""`python -m experiments.advice`: measure, print the tables, write the page."""

import sys

from experiments.advice.measuring import measure
from experiments.advice.page import PAGE, page, tables
from experiments.run import page_command, run_command

command = page_command(
    "advice",
    "Record three programs, predict what they hold under other mallocs, and run them so.",
    measure,
    tables,
    page,
    PAGE,
)

if __name__ == "__main__":
    sys.exit(run_command(command))
