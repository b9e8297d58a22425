"""The contents of a paper and their treatment: the last table of every paper's page."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

from simalloc.report import Markdown, Table

COLUMNS: Final = ("of the paper", "on the page", "measured", "comparable", "why not")
"""Columns; each row names one or several tables, figures, allocators or programs of the paper."""

_TITLE: Final = "Every table, figure, allocator and program of the paper"


def coverage_table(path: Path) -> Table:
    """Return the table in a file such as an experiment's `coverage.csv`.

    A row has an explanation if and only if at least one of its three values is not "yes". Raises
    `ValueError` for a row that violates this rule, and for other columns.
    """
    with path.open(encoding="utf-8", newline="") as file:
        heading, *rows = csv.reader(file)
    if tuple(heading) != COLUMNS:
        raise ValueError(f"{path.name} has columns {heading}")
    for what, *said, why in rows:
        if bool(why) is all(answer == "yes" for answer in said):
            raise ValueError(f"{path.name}: {what!r} is explained if and only if something is not")
    return Table(_TITLE, COLUMNS, [tuple(map(Markdown, row)) for row in rows])
