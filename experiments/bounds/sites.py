"""Value of call-site knowledge, measured on recordings that are not shipped."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from experiments.bounds.measuring import by_sites
from experiments.output import write_csv
from simalloc.report import Table
from simalloc.trace.catalogue import load

SITES: Final = Path(__file__).with_name("sites.csv")

_COLUMNS: Final = ("trace", "known", "excess")


def read_sites() -> dict[str, dict[str, float]]:
    """Return the excess over peak live, as a share of peak live, by trace and kind of knowledge."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    with SITES.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["trace"]][row["known"]] = float(row["excess"])
    return dict(found)


def keep_sites(recordings: Iterable[Path]) -> None:
    """Measure recordings, named by their programs, and store only the results."""
    measured = {path.stem: by_sites(load(str(path))) for path in sorted(recordings)}
    cells = [
        (trace, what, excess) for trace, found in measured.items() for what, excess in found.items()
    ]
    write_csv(Table("", _COLUMNS, cells), SITES)
