"""Espresso's outliers and the price of each: all sixteen rows with the missing bytes at a place.

A place that gives one outlier as printed (`outliers`) is only as good as what it does to the other
rows. Every fourth is replayed under every row, beside the bytes in front of the trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from experiments.johnstone_wilson.fragmentation import NUMBERS
from experiments.johnstone_wilson.outliers import PROGRAM, REACHED, inserted
from experiments.johnstone_wilson.pinned import equals_print, job
from experiments.johnstone_wilson.published import label, table
from experiments.johnstone_wilson.replays import Job, percent
from experiments.johnstone_wilson.variants import AS_PRINTED
from simalloc.report import Rounded, Table

if TYPE_CHECKING:
    from experiments.johnstone_wilson.fragmentation import Runs
    from simalloc.report.table import Value

ROWS: Final = tuple(AS_PRINTED.policies)
CELLS: Final = len(ROWS) * len(NUMBERS)
MOVED: Final = ("best-fit-lifo", "best-fit-fifo", "first-fit-fifo")
"""Rows that the places of first fit AO spoil, by measure #3."""


@dataclass(frozen=True)
class Place:
    """Where the missing bytes lie, and which cells of tables 3 and 4 are then as printed.

    `outlier` is the row that comes out there, empty for the two ways to compare with; `third` has
    measure #3 of the rows of `MOVED`.
    """

    where: str
    outlier: str
    equal: dict[int, int]
    third: tuple[float, ...]

    @property
    def cells(self) -> int:
        """How many of all cells are as printed."""
        return sum(self.equal.values())


SHOWN: Final = {outlier: reached[::4] for outlier, reached in REACHED.items()}
"""The places under every row; the outlier itself is replayed at all of them."""

JOBS: Final = (
    *(inserted(outlier, event) for outlier, reached in REACHED.items() for event in reached),
    *(inserted(row, event) for shown in SHOWN.values() for event in shown for row in ROWS),
)


def places(runs: Runs) -> list[Place]:
    """Return the two ways to compare with, then the places of each outlier."""
    recorded = {row: Job(PROGRAM, AS_PRINTED.policies[row]) for row in ROWS}
    front = {row: job(PROGRAM, row) for row in ROWS}
    found = [
        _place("as recorded", "", recorded, runs),
        _place("in front of the trace", "", front, runs),
    ]
    for outlier, shown in SHOWN.items():
        for event in shown:
            at = {row: inserted(row, event) for row in ROWS}
            found.append(_place(f"before event {event:,}", outlier, at, runs))
    return found


def places_table(runs: Runs) -> Table:
    """Return a row a place."""
    rows: list[tuple[Value, ...]] = [
        (
            one.where,
            label(one.outlier) if one.outlier else "neither",
            *one.equal.values(),
            one.cells,
            *(Rounded(value, 2) for value in one.third),
        )
        for one in places(runs)
    ]
    printed = [Rounded(table(3).cells[row][PROGRAM].value, 2) for row in MOVED]
    rows.insert(0, ("published", "both", len(ROWS), len(ROWS), CELLS, *printed))
    columns = (
        "the missing bytes",
        "outlier met",
        *(f"#{number} equal" for number in NUMBERS),
        f"of {CELLS}",
        *(f"#3\n{label(row)}" for row in MOVED),
    )
    return Table("Espresso: all sixteen rows, by where the missing bytes lie", columns, rows)


def _place(where: str, outlier: str, replayed: dict[str, Job], runs: Runs) -> Place:
    equal = {
        number: sum(
            equals_print(percent(runs[one], number), number, row, PROGRAM)
            for row, one in replayed.items()
        )
        for number in NUMBERS
    }
    third = tuple(percent(runs[replayed[row]], 3) for row in MOVED)
    return Place(where, outlier, equal, third)
