"""The explanatory page. Its text is in `page.md`, its figures are stored.

A test (tests/papers/test_planners_page.py) checks that docs contains this page.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from pathlib import Path
from statistics import median
from typing import Final

from experiments.output import fill_page, listed
from experiments.planners.measuring import DENSE, EFFORT, PACKINGS, Found, Measured
from simalloc.bound.planners import RULES
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

PAGE: Final = "planners.md"

_WORDS: Final = Path(__file__).with_name("page.md")


def page(measured: Measured) -> str:
    """Return the page as Markdown."""
    spreads = {planner: _above(measured, planner) for planner in RULES}
    lowest = min(spreads, key=lambda name: median(spreads[name]))
    highest = max(spreads, key=lambda name: median(spreads[name]))
    best = {one.name: min(map(one.above, RULES)) for one in measured.instances}
    dense = [above for name, above in best.items() if name in DENSE]
    sparse = [above for name, above in best.items() if name not in DENSE]
    statuses = [one.lowest.status for one in measured.instances]
    facts = {
        "instances": len(measured.instances),
        "planners": len(RULES),
        "lowest": lowest,
        "lowest_median": f"{median(spreads[lowest]):.1f}",
        "lowest_range": _range(spreads[lowest]),
        "highest": highest,
        "highest_median": f"{median(spreads[highest]):.1f}",
        "highest_range": _range(spreads[highest]),
        "dense": len(dense),
        "dense_best": _range(dense),
        "sparse": len(sparse),
        "sparse_most": f"{max(sparse):.1f}",
        "optimal": statuses.count("optimal"),
        "bounded": statuses.count("bounded"),
        "unproven": statuses.count("unproven"),
        "by_planner": listed(
            [one.name for one in measured.instances if one.lowest is not one.best]
        ),
        "effort": f"{EFFORT.seconds:g}",
        "packed": listed(list(_packed(measured.packings))),
    }
    return fill_page(_WORDS, facts, tables(measured)).rstrip("\n") + "\n"


def tables(measured: Measured) -> dict[str, Table]:
    """Return the tables of the page by name."""
    return {
        "placements": placements_table(measured),
        "above": above_table(measured),
        "spread": spread_table(measured),
        "packings": packings_table(measured.packings),
    }


def placements_table(measured: Measured) -> Table:
    """Return the lowest placement of each instance, and its status."""
    columns = ("instance", "buffers", "peak live", "lowest found", "status", "seconds")
    rows: list[tuple[Value, ...]] = [
        (
            one.name,
            one.best.buffers,
            one.best.peak,
            one.lowest.heap,
            _status(one.lowest),
            Rounded(one.best.seconds, 2),
        )
        for one in measured.instances
    ]
    return Table("Lowest placements, in bytes", columns, rows)


def above_table(measured: Measured) -> Table:
    """Return the excess of each planner's heap over the lowest placement found, in percent."""
    rows: list[tuple[Value, ...]] = [
        (one.name, *(Rounded(one.above(planner), 1) for planner in RULES))
        for one in measured.instances
    ]
    return Table("Percent above the lowest placement found", ("instance", *RULES), rows)


def spread_table(measured: Measured) -> Table:
    """Return the median, minimum and maximum of each planner over all instances."""
    rows: list[tuple[Value, ...]] = []
    for planner in sorted(RULES, key=lambda name: median(_above(measured, name))):
        above = _above(measured, planner)
        figures = (median(above), min(above), max(above))
        rows.append((planner, *(Rounded(figure, 1) for figure in figures)))
    columns = ("planner", "median", "minimum", "maximum")
    return Table("Percent above the lowest placement found, over all instances", columns, rows)


def packings_table(packings: list[Found]) -> Table:
    """Return the number of perfect packings that were solved, and the duration in seconds."""
    rows: list[tuple[Value, ...]] = []
    for buffers, _ in PACKINGS:
        mine = [one for one in packings if one.buffers == buffers]
        seconds = [one.seconds for one in mine]
        rows.append(
            (
                buffers,
                len(mine),
                sum(one.status == "optimal" for one in mine),
                Rounded(median(seconds), 2),
                Rounded(max(seconds), 2),
            )
        )
    columns = ("buffers", "packings", "solved", "median seconds", "maximum seconds")
    return Table("Perfect packings", columns, rows)


def _packed(packings: list[Found]) -> Iterator[str]:
    for buffers, count in PACKINGS:
        solved = sum(one.buffers == buffers and one.status == "optimal" for one in packings)
        yield f"{solved} of {count} packings with {buffers} buffers"


def _above(measured: Measured, planner: str) -> list[float]:
    return [one.above(planner) for one in measured.instances]


def _range(above: list[float]) -> str:
    return f"{min(above):.1f} to {max(above):.1f} %"


def _status(found: Found) -> str:
    if found.status == "optimal":
        return "optimal"
    percent = 100 * (found.heap / found.lower - 1)
    return f"{found.status}, at most {ceil(100 * percent) / 100:g} % above the minimum"
