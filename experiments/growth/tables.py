"""The tables of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

from experiments.growth.findings import PAIR, PAPER, Findings, Spread
from experiments.growth.measuring import (
    CLOSELY,
    FINE,
    POLICIES,
    SCALE,
    UNITS,
    WITHOUT_TAIL,
)
from experiments.growth.synthetic import SYNTHETIC
from experiments.johnstone_wilson.published import label
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

_LIMITS: Final = (1, 5, 20)
_FAR: Final = 1
"""Change of a figure, in percentage points, above which its trace is shown in its own row."""

EXAMINED: Final = (PAIR[0], WITHOUT_TAIL, PAIR[1], "lea-2.6.1")


def all_tables(found: Findings) -> dict[str, Table]:
    """Return every table by its name on the page."""
    return {
        "resident": resident_table(found),
        "resident-policies": spreads_table(
            "Change of the waste in resident pages over the units, percentage points",
            found.resident_spreads,
        ),
        "units": units_table(found),
        "policies": spreads_table(
            "Change of the waste over the units, percentage points", found.spreads
        ),
        "medians": medians_table(found),
        "far": far_table(found),
        "paper": paper_table(found),
        **{f"closely-{trace}": closely_table(found, trace) for trace in CLOSELY},
    }


def spell_unit(unit: int) -> str:
    """Return a unit in bytes of the program, with a suffix for KiB."""
    size = unit // SCALE
    return f"{size // 1024}K" if size >= 1024 else str(size)


def units_table(found: Findings) -> Table:
    """Return one row per unit: the number of traces on which the paper's best two waste little."""
    columns = ["unit"]
    for policy in PAIR:
        columns += [f"{label(policy)}, at most {limit} %" for limit in _LIMITS[:2]]
        columns += ["maximum waste, %", "its trace"]
    rows: list[list[Value]] = []
    for unit in UNITS:
        row: list[Value] = [spell_unit(unit)]
        for policy in PAIR:
            row += [found.within(policy, unit, limit) for limit in _LIMITS[:2]]
            worst = found.worst(policy, unit)
            row += [Rounded(found.figure(worst, policy, unit), 1), worst]
        rows.append(row)
    return Table(f"By growth unit: {len(found.traces)} traces", columns, rows)


def spreads_table(title: str, spreads: Callable[[str], Sequence[Spread]]) -> Table:
    """Return one row per policy: the changes of its figures on the traces over the units."""
    rows: list[tuple[Value, ...]] = []
    for policy in POLICIES:
        found = spreads(policy)
        widths = [spread.width for spread in found]
        widest = max(found, key=lambda spread: spread.width)
        rows.append(
            (
                label(policy),
                Rounded(median(widths), 2),
                *(sum(width > limit for width in widths) for limit in _LIMITS),
                Rounded(widest.least, 1),
                Rounded(widest.most, 1),
                widest.trace,
            )
        )
    columns = (
        "policy",
        "median",
        *(f"traces above {limit}" for limit in _LIMITS),
        "largest change: from",
        "largest change: to",
        "largest change: trace",
    )
    return Table(title, columns, rows)


def medians_table(found: Findings) -> Table:
    """Return one row per policy and one column per unit: the median over the traces."""
    rows: list[tuple[Value, ...]] = [
        (label(policy), *(Rounded(found.median_figure(policy, unit), 2) for unit in UNITS))
        for policy in POLICIES
    ]
    columns = ("policy", *map(spell_unit, UNITS))
    return Table(f"Median waste over {len(found.traces)} traces, percent", columns, rows)


def far_table(found: Findings) -> Table:
    """Return one row for each trace and policy of the best two whose figure changes strongly."""
    rows: list[tuple[Value, ...]] = [
        (label(policy), trace, *(Rounded(found.figure(trace, policy, u), 2) for u in UNITS))
        for policy in PAIR
        for trace in found.traces
        if found.spread(trace, policy).width > _FAR
    ]
    columns = ("policy", "trace", *map(spell_unit, UNITS))
    return Table(f"Waste of traces that change by more than {_FAR} point, percent", columns, rows)


def resident_table(found: Findings) -> Table:
    """Return the resident waste of each trace and policy on which it changes strongly."""
    rows: list[tuple[Value, ...]] = [
        (
            label(policy),
            trace,
            *(Rounded(found.outcome(trace, policy, unit).resident_waste, 2) for unit in UNITS),
        )
        for policy in PAIR
        for trace in (*found.traces, SYNTHETIC)
        if found.resident_spread(trace, policy).width > _FAR
    ]
    columns = ("policy", "trace", *map(spell_unit, UNITS))
    title = f"Waste in resident pages of traces that change by more than {_FAR} point, percent"
    return Table(title, columns, rows)


def paper_table(found: Findings) -> Table:
    """Return one row per program of the paper: minimum and maximum figures of its best two."""
    rows: list[tuple[Value, ...]] = []
    for trace in PAPER:
        spreads = [found.spread(trace, policy) for policy in PAIR]
        ends = [end for spread in spreads for end in (spread.least, spread.most)]
        rows.append((label(trace), *(Rounded(end, 2) for end in ends)))
    columns = ("program", *(f"{label(policy)}, {end}" for policy in PAIR for end in ("from", "to")))
    return Table("The paper's programs: waste over all units, percent", columns, rows)


def closely_table(found: Findings, trace: str) -> Table:
    """Return one row per unit, every power of two: the waste of some policies on one trace."""
    rows: list[tuple[Value, ...]] = [
        (
            spell_unit(unit),
            *(Rounded(found.outcome(trace, policy, unit).waste, 1) for policy in EXAMINED),
        )
        for unit in FINE
    ]
    names = ["best fit AO, count_tail=off" if p == WITHOUT_TAIL else label(p) for p in EXAMINED]
    return Table(f"{trace}: waste in percent", ("unit", *names), rows)
