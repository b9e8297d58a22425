"""Results of the contests: tables, and the figures that summarise them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any, Final

from benchmarks.contest import Contest
from simalloc.policy import GROUPS, HEAP_POLICIES
from simalloc.report import Rounded, Table

Cells = dict[tuple[str, str], float]
"""A figure for each contestant and trace."""

_GROUPS: Final[Mapping[str, frozenset[str]]] = {
    "Johnstone & Wilson's": frozenset(GROUPS["johnstone-wilson"]),
    "all policies": frozenset(HEAP_POLICIES),
}


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive values, or nan without values."""
    logarithms = [math.log(value) for value in values]
    return math.exp(fmean(logarithms)) if logarithms else math.nan


def ratios(contests: Sequence[Contest]) -> Cells:
    """Return the time of each contestant divided by glibc's time."""
    return {(contest.contestant, contest.trace): contest.ratio for contest in contests}


def nanoseconds(contests: Sequence[Contest]) -> Cells:
    """Return the median time per event of each contestant, and of glibc over all its passes."""
    cells = {
        (contest.contestant, contest.trace): median(contest.nanoseconds) for contest in contests
    }
    for trace in dict.fromkeys(contest.trace for contest in contests):
        passes = [time for contest in contests if contest.trace == trace for time in contest.glibc]
        cells["glibc", trace] = median(passes)
    return cells


def times_the_real(contests: Sequence[Contest]) -> Cells:
    """Return each model's time divided by the time of its real allocator, if both were measured.

    Both times are relative to glibc's adjacent pass, so that a temporary slowdown of the machine
    cancels out.
    """
    cells = ratios(contests)
    real = cells | {("real ptmalloc", contest.trace): 1.0 for contest in contests}
    return {
        (name, trace): ratio / real[f"real {_plain(name)}", trace]
        for (name, trace), ratio in cells.items()
        if (f"real {_plain(name)}", trace) in real
    }


def standings(title: str, cells: Cells, decimals: int) -> Table:
    """Return a table with a row per contestant, a column per trace, means and the worst cell.

    The last rows are the geometric means over Johnstone & Wilson's policies and over all policies.
    """
    names = list(dict.fromkeys(name for name, _ in cells))
    traces = list(dict.fromkeys(trace for _, trace in cells))
    rows = {name: [[cells[name, trace]] for trace in traces] for name in names}
    for group, members in _GROUPS.items():
        present = [name for name in names if _plain(name) in members]
        if present:
            rows[group] = [[cells[name, trace] for name in present] for trace in traces]
    return Table(
        title,
        ("", *traces, "mean", "worst"),
        [
            [name, *(Rounded(figure, decimals) for figure in _figures(columns))]
            for name, columns in rows.items()
        ],
        ("Means are geometric. The worst is the maximum of a single policy and trace.",),
    )


def _figures(columns: Sequence[Sequence[float]]) -> list[float]:
    whole = list(itertools.chain(*columns))
    return [*map(geometric_mean, columns), geometric_mean(whole), max(whole)]


def headline(contests: Sequence[Contest]) -> dict[str, Any]:
    """Return each group's geometric mean of times relative to glibc, and its worst cell."""
    cells = ratios(contests)
    figures = {}
    for group, members in _GROUPS.items():
        those = {cell: ratio for cell, ratio in cells.items() if _plain(cell[0]) in members}
        if those:
            worst = max(those, key=lambda cell: those[cell])
            figures[group] = {
                "geometric_mean": geometric_mean(those.values()),
                "worst": those[worst],
                "worst_at": list(worst),
            }
    return figures


def _plain(name: str) -> str:
    return name.partition(":")[0]
