"""`python -m experiments.todays_programs`: measure, print the tables, write the page."""

import sys

from experiments.run import page_command, run_command
from experiments.todays_programs.measuring import measure
from experiments.todays_programs.page import PAGE, page
from experiments.todays_programs.pictures import pictures
from experiments.todays_programs.tables import all_tables

command = page_command(
    "todays_programs",
    "Replay programs of today under Johnstone and Wilson's policies, and explain the worst: about "
    "a minute on two cores.",
    measure,
    all_tables,
    page,
    PAGE,
    pictures,
)

if __name__ == "__main__":
    sys.exit(run_command(command))
