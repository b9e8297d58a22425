"""Rankings of policies over several traces, with their uncertainty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap import Run, fragmentation
from simalloc.measure.bootstrap import mean_intervals
from simalloc.policy import spell


@dataclass(frozen=True)
class Rank:
    """One policy's fragmentation, as fractions, over all traces.

    `low` and `high` are the 95 % interval of the mean if the traces are a sample of programs
    (measure/bootstrap.py), or None with fewer than three traces.
    """

    policy: str
    mean: float
    low: float | None
    high: float | None
    by_trace: Mapping[str, float]


def ranking(runs: Iterable[Run], measure: int = 4, of: str = "mapped") -> list[Rank]:
    """Rank the policies of some runs by the mean of measure #1, #2, #3 or #4, the lowest first.

    `of` selects mapped or resident bytes. Raises `SimallocError` for another value, and unless
    every policy has exactly one run of every trace.
    """
    table: dict[str, dict[str, float]] = {}
    traces: dict[str, None] = {}
    for run in runs:
        row = table.setdefault(spell(run.policy), {})
        if run.trace in row:
            raise SimallocError(
                f"there are two runs of {run.trace} under {spell(run.policy)}; give only one of "
                "them"
            )
        row[run.trace] = fragmentation(run, of)[measure]
        traces[run.trace] = None
    for name, row in table.items():
        missing = [trace for trace in traces if trace not in row]
        if missing:
            raise SimallocError(f"no run of {', '.join(missing)} under {name} is given")
    return rank_values(table)


def rank_values(table: Mapping[str, Mapping[str, float]]) -> list[Rank]:
    """Rank policies by the mean of a measure, the lowest first.

    `table` has the measure by policy and trace. Every policy has a value for each of the same
    traces.
    """
    if not table:
        return []
    traces = next(iter(table.values()))
    values = np.array([[row[trace] for trace in traces] for row in table.values()])
    bounds: list[tuple[float, float] | tuple[None, None]] = [(None, None)] * len(table)
    if len(traces) > 2:
        bounds = [(float(low), float(high)) for low, high in mean_intervals(values, list(traces)).T]
    ranks = [
        Rank(name, float(mean), low, high, dict(zip(traces, row.tolist(), strict=True)))
        for name, mean, (low, high), row in zip(
            table, values.mean(axis=1), bounds, values, strict=True
        )
    ]
    return sorted(ranks, key=lambda rank: rank.mean)
