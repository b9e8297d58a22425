"""`python -m experiments.synthetic`: measure, print the table, write the page."""

import sys

from experiments.run import page_command, run_command
from experiments.synthetic.measuring import measure
from experiments.synthetic.page import PAGE, page, tables

command = page_command(
    "synthetic",
    "Compare shipped traces with traces generated like them: some minutes.",
    measure,
    tables,
    page,
    PAGE,
)

if __name__ == "__main__":
    sys.exit(run_command(command))
