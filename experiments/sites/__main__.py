"""`python -m experiments.sites`: measure, and write the page to a folder."""

from __future__ import annotations

import sys

from experiments.run import page_command, run_command
from experiments.sites.measuring import measured
from experiments.sites.page import PAGE, page, tables

command = page_command(
    "sites",
    "Measure what knowing the call site is worth, learned from one run and used on another.",
    measured,
    tables,
    page,
    PAGE,
)

if __name__ == "__main__":
    sys.exit(run_command(command))
