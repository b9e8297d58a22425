"""Policies in order, with how far the order can be trusted.

The interval of an average is the bootstrap's (measure/bootstrap.py). Two policies are told apart by
the signs of their differences, trace by trace: if neither were better, each difference could as
well have had the other sign (Fisher's randomisation test). All pairs are tested together, so that
the chance of any false difference among them is bounded, by the largest statistic over all pairs
(Westfall & Young 1993).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import ResultsError
from simalloc.measure.bootstrap import RESAMPLES, mean_intervals
from simalloc.plural import counted
from simalloc.report import Table
from simalloc.report.html import html
from simalloc.report.units import spell_share
from simalloc.sweep.pivot import Pivot

EXACT_TRACES: Final = 12
"""Up to this many traces every assignment of signs is tried."""
DRAWN: Final = 2000
"""Assignments of signs drawn for more traces."""
SEED: Final = 0
_ROUNDING: Final = 1e-9
"""Statistics this much apart are the same."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """The rows of a pivot from best (lowest average) to worst.

    `low` and `high` (float64, one a row) bound the average with the given confidence; `chance`
    (float64, rows x rows) is the probability, over all pairs together, of so consistent a
    difference if there were none. `dropped` are the traces left out because a row has no figure.
    """

    pivot: Pivot
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    chance: NDArray[np.float64] = field(repr=False)
    confidence: float
    resamples: int
    dropped: tuple[str, ...]

    def alike(self, row: int) -> list[int]:
        """Return the other rows from which a row cannot be told apart at this confidence."""
        near = np.flatnonzero(self.chance[row] > 1 - self.confidence)
        return [int(other) for other in near if other != row]

    def table(self) -> Table:
        """Return a row a policy, best first."""
        shown = self.pivot.measure.shown
        averages = self.pivot.averages
        keys = self.pivot.varying()
        rows = [
            (
                row + 1,
                *(getattr(setting, name) for name in keys),
                *(shown(float(x)) for x in (averages[row], self.low[row], self.high[row])),
                _ranges([other + 1 for other in self.alike(row)]),
            )
            for row, setting in enumerate(self.pivot.settings)
        ]
        columns = ("rank", *keys, "average", "low", "high", "not told apart from ranks")
        return Table(self.pivot.measure.title, columns, rows, self._notes())

    def _notes(self) -> tuple[str, ...]:
        share, traces = spell_share(self.confidence), len(self.pivot.traces)
        interval = (
            f"Low to high: where the average over other programs would lie; a {share} bootstrap "
            f"interval from {self.resamples:,} resamples of {counted(traces, 'trace')}."
        )
        apart = (
            f"All other differences are more than chance, with {share} confidence for all pairs "
            "together, by the signs of the differences trace by trace."
        )
        if 2.0 ** (1 - traces) > 1 - self.confidence:
            apart = (
                f"With {counted(traces, 'trace')} no difference can be more than chance at {share}."
            )
        left_out = f"Left out, since not every row has them: {', '.join(self.dropped)}."
        return (interval, apart, *([left_out] if self.dropped else []), *self.pivot.notes())

    def _repr_html_(self) -> str:
        return html(self.table())


def rank(pivot: Pivot, *, confidence: float = 0.95, resamples: int = RESAMPLES) -> Ranking:
    """Rank the rows of a pivot by their averages over the traces that all of them have.

    The intervals are percentiles of `resamples` bootstrap samples of the traces, the same for all
    rows; with few traces they are too narrow rather than too wide. All draws are from a fixed seed.
    Raises `ResultsError` if fewer than two traces are complete.
    """
    if not 0 < confidence < 1:
        raise ResultsError(f"confidence is {confidence}; it lies between 0 and 1")
    if resamples < 1:
        raise ResultsError(f"resamples is {resamples}; it takes at least 1")
    complete = pivot.complete()
    if len(complete.traces) < 2:
        raise ResultsError(
            "a ranking needs two traces at least for which every policy has a figure"
        )
    ordered = complete.sorted_by("average")
    low, high = mean_intervals(ordered.values, confidence, resamples)
    dropped = [column.label for column in pivot.traces if column not in ordered.traces]
    chance = chances(ordered.values)
    return Ranking(ordered, low, high, chance, confidence, resamples, tuple(dropped))


def chances(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how probable each pair's difference is if no two rows differed (rows x rows).

    The statistic of a pair is the mean of its differences over their root mean square, which orders
    assignments of signs as Student's t does. Each pair's is compared with the largest of any pair
    under every assignment of signs to the columns (or `DRAWN` ones, and the one given).
    """
    squares = _root_mean_squares(values)
    observed = _statistic(values, np.ones(values.shape[1]), squares)
    reached = np.zeros_like(observed)
    signs = _signs(values.shape[1])
    for assignment in signs:
        reached += _statistic(values, assignment, squares).max() >= observed - _ROUNDING
    return np.asarray(reached / len(signs))


def _statistic(
    values: NDArray[np.float64], signs: NDArray[np.float64], squares: NDArray[np.float64]
) -> NDArray[np.float64]:
    means = values @ signs / len(signs)
    difference = np.abs(means[:, None] - means)
    return np.divide(difference, squares, out=np.zeros_like(squares), where=squares > 0)


def _root_mean_squares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the root mean square of each pair's differences, 0 where two rows are the same."""
    return np.array([np.sqrt(((values - row) ** 2).mean(axis=1)) for row in values])


def _signs(columns: int) -> NDArray[np.float64]:
    """Return assignments of -1 and 1; the first is all ones. A sign to all changes nothing."""
    if columns <= EXACT_TRACES:
        flipped = np.arange(1 << (columns - 1))[:, None] >> np.arange(columns) & 1
    else:
        flipped = np.zeros((DRAWN + 1, columns), np.int64)
        flipped[1:] = np.random.default_rng(SEED).integers(2, size=(DRAWN, columns))
    return (1 - 2 * flipped).astype(np.float64)


def _ranges(numbers: list[int]) -> str:
    """Spell increasing numbers as `1-4, 7`."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], number
        else:
            spans.append((number, number))
    return ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in spans)
