"""The tables of the page."""

from __future__ import annotations

from statistics import mean, median
from typing import Final

from experiments.johnstone_wilson.published import label
from experiments.johnstone_wilson.replays import percent
from experiments.todays_programs.cases import CASES, PAIR, Case
from experiments.todays_programs.measuring import Results
from experiments.todays_programs.programs import PROGRAMS, ROWS
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

_LIMITS: Final = (1, 5, 20)


def all_tables(results: Results) -> dict[str, Table]:
    """Return every table by the stem of its file name."""
    return {
        "policies": policies_table(results),
        "programs": programs_table(results),
        **{f"case-{case.program}": case_table(case, results) for case in CASES},
    }


def policies_table(results: Results) -> Table:
    """Return one row per policy: its waste over the programs."""
    rows: list[tuple[Value, ...]] = []
    for policy in ROWS:
        waste = {program: results.waste(program, policy) for program in PROGRAMS}
        worst = max(waste, key=waste.__getitem__)
        above = [sum(value > limit for value in waste.values()) for limit in _LIMITS]
        rows.append(
            (
                label(policy),
                Rounded(median(waste.values()), 2),
                Rounded(mean(waste.values()), 1),
                Rounded(waste[worst], 1),
                worst,
                *above,
            )
        )
    columns = (
        "policy",
        "median",
        "mean",
        "worst",
        "worst program",
        *(f"above {x} %" for x in _LIMITS),
    )
    return Table(f"Waste over {len(PROGRAMS)} programs of today, percent", columns, rows)


def programs_table(results: Results) -> Table:
    """Return one row per program and one column per policy."""
    rows: list[tuple[Value, ...]] = [
        (program, *(Rounded(results.waste(program, policy), 2) for policy in ROWS))
        for program in PROGRAMS
    ]
    columns = ("program", *(label(policy).replace(" ", "\n", 1) for policy in ROWS))
    return Table("Waste by program and policy, percent", columns, rows)


def case_table(case: Case, results: Results) -> Table:
    """Return one row per change: both policies' waste, and the peak live bytes with that change."""
    rows: list[tuple[Value, ...]] = []
    for change in case.changes:
        runs = [results.runs[change.job(case.program, policy)] for policy in PAIR]
        waste = (Rounded(percent(run, 4), 2) for run in runs)
        rows.append((change.name, Rounded(runs[0].max_live_bytes / 1e6, 2), *waste))
    columns = ("", "peak live, MB", *map(label, PAIR))
    return Table(f"{case.program}: waste in percent, after one change", columns, rows)
