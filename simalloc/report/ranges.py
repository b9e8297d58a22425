"""Ranges of a policy's figures over the values of one of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import Final

import numpy as np

from simalloc.heap import Run, fragmentation
from simalloc.heap.quantity import NAMES, Quantity, bytes_of_fragmentation, worst
from simalloc.policy import Policy, spell
from simalloc.report.runs import MEASURES_NOTES
from simalloc.report.table import Table, Value

_SPREAD: Final[dict[str, Callable[[list[float]], float]]] = {
    "min": min,
    "median": lambda values: float(np.median(values)),
    "max": max,
}


def ranges_table(
    spreads: Sequence[tuple[Policy, Sequence[Run]]], what: str, of: Quantity = "mapped"
) -> Table:
    """Return a table with a row per policy: the minimum, median and maximum of its runs.

    `what` names the parameter and its values, and `of` the measured bytes. A figure that is
    undefined in one of the runs is left out.
    """
    figures: dict[str, Callable[[Run], float]] = {
        "#4 %": lambda run: 100 * fragmentation(run, bytes_of_fragmentation(of))[4],
        NAMES[of]: lambda run: worst(run, of).bytes,
    }
    columns = ("trace", "policy", "runs", *(f"{f} {s}" for f in figures for s in _SPREAD))
    rows: list[Sequence[Value]] = [
        (
            runs[0].trace,
            spell(policy),
            len(runs),
            *(value for figure in figures.values() for value in _spread(figure, runs)),
        )
        for policy, runs in spreads
    ]
    return Table(f"Fragmentation with {what}", columns, rows, MEASURES_NOTES[1:])


def _spread(figure: Callable[[Run], float], runs: Sequence[Run]) -> list[float | None]:
    values = [figure(run) for run in runs]
    if any(map(isnan, values)):
        return [None] * len(_SPREAD)
    return [of(values) for of in _SPREAD.values()]
