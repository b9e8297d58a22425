"""`python -m experiments.ellermann`: measure, print the tables, write the page."""

import sys

from experiments.ellermann.measuring import measure
from experiments.ellermann.page import PAGE, page, tables
from experiments.run import page_command, run_command

command = page_command(
    "ellermann",
    "Measure the methods of Ellermann 2014 on the paper's two workloads, and why next fit lost.",
    measure,
    tables,
    page,
    PAGE,
)

if __name__ == "__main__":
    sys.exit(run_command(command))
