"""Which policy wastes least: policies ranked over several traces, with the doubt that remains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.errors import SimallocError
from simalloc.measure.fragmentation import fragmentation
from simalloc.policy import spell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from simalloc.heap import Run

RESAMPLES: Final = 10_000
_CONFIDENCE: Final = 0.95
_SEED: Final = 1


@dataclass(frozen=True)
class Rank:
    """One policy's fragmentation, as fractions, over all traces.

    `low` and `high` are the 95 % interval of the mean if the traces are a sample of programs
    (percentile bootstrap over traces); None with fewer than three.
    """

    policy: str
    mean: float
    low: float | None
    high: float | None
    by_trace: Mapping[str, float]


def ranking(runs: Iterable[Run], measure: int = 4) -> list[Rank]:
    """Rank the policies of some runs by the mean of measure #1, #2, #3 or #4, the least first.

    Raises `SimallocError` unless every policy has exactly one run of every trace.
    """
    table: dict[str, dict[str, float]] = {}
    traces: dict[str, None] = {}
    for run in runs:
        row = table.setdefault(spell(run.policy), {})
        if run.trace in row:
            raise SimallocError(f"two runs of {run.trace} under {spell(run.policy)}")
        row[run.trace] = fragmentation(run)[measure]
        traces[run.trace] = None
    for name, row in table.items():
        missing = [trace for trace in traces if trace not in row]
        if missing:
            raise SimallocError(f"there is no run of {', '.join(missing)} under {name}")
    drawn = np.random.default_rng(_SEED).integers(0, len(traces) or 1, (RESAMPLES, len(traces)))
    ranks = [_rank(name, {key: row[key] for key in traces}, drawn) for name, row in table.items()]
    return sorted(ranks, key=lambda rank: rank.mean)


def _rank(policy: str, by_trace: Mapping[str, float], drawn: NDArray[np.int64]) -> Rank:
    values = np.array(list(by_trace.values()))
    low = high = None
    if len(values) > 2:
        tail = 100 * (1 - _CONFIDENCE) / 2
        low, high = (
            float(edge) for edge in np.percentile(values[drawn].mean(axis=1), (tail, 100 - tail))
        )
    return Rank(policy, float(values.mean()), low, high, by_trace)
