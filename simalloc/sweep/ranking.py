"""Ranking of policies by their averages over programs, with the statistical significance.

Traces of one program (several inputs, or several seeds of a generator) count as one program. The
average and the statistics are over programs. The interval of an average is the bootstrap's
(measure/bootstrap.py). Two policies are compared by the signs of their differences, program by
program. If neither policy were better, each difference could equally have had the other sign
(Fisher's randomisation test). The test covers all pairs together, by the largest statistic over all
pairs; it bounds the probability of any false difference (Westfall & Young 1993).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import ResultsError
from simalloc.measure.bootstrap import RESAMPLES, mean_intervals, program_means
from simalloc.plural import counted
from simalloc.report import Table
from simalloc.report.html import html
from simalloc.report.table import Value, frame
from simalloc.report.units import spell_share
from simalloc.sweep.pivot import Pivot

if TYPE_CHECKING:
    import pandas as pd

EXACT_PROGRAMS: Final = 12
"""Maximum number of programs for which every assignment of signs is tried."""
DRAWN: Final = 2000
"""Number of assignments of signs drawn if there are more programs."""
SEED: Final = 0
_ROUNDING: Final = 1e-9
"""Statistics that differ by at most this amount are equal."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Rows of a pivot from the best to the worst average over programs.

    The lowest average is the best, except for the size of the largest free block. Rows with refused
    requests follow all others. Rows with a run that a refused request ended come last.

    Attributes
    ----------
    pivot : Pivot
        The values by policy and trace, best policy first.
    averages, low, high : array of float64, one value per row
        The mean over programs and the ends of its interval; nan with fewer than two programs.
    chance : array of float64, rows x rows
        Probability of a difference at least this consistent between two equal policies, corrected
        for all pairs.
    dropped : tuple of str
        Traces that are omitted because a row has no figure for them.
    """

    pivot: Pivot
    averages: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    chance: NDArray[np.float64] = field(repr=False)
    confidence: float
    resamples: int
    dropped: tuple[str, ...]

    @property
    def programs(self) -> int:
        """The number of different programs among the traces."""
        return len({column.program for column in self.pivot.traces})

    def alike(self, row: int) -> list[int]:
        """Return the other rows that do not differ significantly from a row."""
        near = np.flatnonzero(self.chance[row] > 1 - self.confidence)
        return [int(other) for other in near if other != row]

    def table(self) -> Table:
        """Return a table with a row per policy, the best policy first."""
        return self._table(self.pivot.measure.shown, self.pivot.measure.title, self._notes())

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with one row per policy and plain numbers.

        Raises `SimallocError` if pandas is not installed (extra `frame`).
        """
        return frame(self._table(_plain, self.pivot.measure.column, ()))

    def _table(self, shown: Callable[[float], Value], title: str, notes: tuple[str, ...]) -> Table:
        keys = self.pivot.varying()
        figures = zip(self.averages, self.low, self.high, strict=True)
        rows = [
            (
                row + 1,
                *(getattr(setting, name) for name in keys),
                *(shown(float(x)) for x in bounds),
                _ranges([other + 1 for other in self.alike(row)]),
            )
            for row, (setting, bounds) in enumerate(zip(self.pivot.settings, figures, strict=True))
        ]
        columns = ("rank", *keys, "average", "low", "high", "no significant difference from ranks")
        return Table(title, columns, rows, notes)

    def _notes(self) -> tuple[str, ...]:
        share, programs = spell_share(self.confidence), counted(self.programs, "program")
        traces = counted(len(self.pivot.traces), "trace")
        left_out = f"Omitted because some rows lack them: {', '.join(self.dropped)}."
        return (
            f"The average is over {programs} ({traces}); each program has the same weight.",
            *self._significance(share, programs),
            *([left_out] if self.dropped else []),
            *self.pivot.notes(),
        )

    def _significance(self, share: str, programs: str) -> tuple[str, ...]:
        if self.programs < 2:
            return ("There is no interval, because one program says nothing about others.",)
        interval = (
            f"Low to high: the {share} bootstrap interval of the average, from "
            f"{self.resamples:,} resamples of the programs and of their traces."
        )
        if 2.0 ** (1 - self.programs) > 1 - self.confidence:
            return interval, f"With {programs} no difference can be significant at {share}."
        test = "randomisation of the signs of the differences, program by program"
        apart = f"All other differences are significant at {share} for all pairs together ({test})."
        return interval, apart

    def _repr_html_(self) -> str:
        return html(self.table())


def rank(pivot: Pivot, *, confidence: float = 0.95, resamples: int = RESAMPLES) -> Ranking:
    """Rank the rows of a pivot by their averages over programs.

    Traces without a figure for every row are omitted. The intervals are percentiles of `resamples`
    bootstrap samples, the same for all rows. With few programs the intervals tend to be too narrow.
    All draws are from a fixed seed. Raises `ResultsError` if fewer than two traces remain.
    """
    if not 0 < confidence < 1:
        raise ResultsError(f"confidence is {confidence}; use a number between 0 and 1")
    if resamples < 1:
        raise ResultsError(f"resamples is {resamples}; use at least 1")
    complete = pivot.complete()
    if len(complete.traces) < 2 or not complete.settings:
        raise ResultsError("a ranking needs at least two traces with a figure for every policy")
    programs = [column.program for column in complete.traces]
    means = program_means(complete.values, programs)
    order = np.lexsort((complete.measure.order(means.mean(axis=1)), np.array(complete.incomplete)))
    ordered, means = complete.reordered(order.tolist()), means[order]
    low = high = np.full(len(means), np.nan)
    if means.shape[1] > 1:
        low, high = mean_intervals(ordered.values, programs, confidence, resamples)
    dropped = [column.label for column in pivot.traces if column not in ordered.traces]
    return Ranking(
        ordered,
        means.mean(axis=1),
        low,
        high,
        chances(means),
        confidence,
        resamples,
        tuple(dropped),
    )


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value


def chances(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each pair's difference if no two rows differed, shape (rows, rows).

    The statistic of a pair is the mean of its differences divided by their root mean square. It
    orders assignments of signs as Student's t does. The statistic is compared with the largest
    statistic of all pairs, under every assignment of signs to the columns, or under the given
    assignment and `DRAWN` others.
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
    """Return the root mean square of each pair's differences, which is 0 for equal rows."""
    return np.array([np.sqrt(((values - row) ** 2).mean(axis=1)) for row in values])


def _signs(columns: int) -> NDArray[np.float64]:
    """Return assignments of -1 and 1; the first is all ones. Flipping all signs has no effect."""
    if columns <= EXACT_PROGRAMS:
        flipped = np.arange(1 << (columns - 1))[:, None] >> np.arange(columns) & 1
    else:
        flipped = np.zeros((DRAWN + 1, columns), np.int64)
        flipped[1:] = np.random.default_rng(SEED).integers(2, size=(DRAWN, columns))
    return (1 - 2 * flipped).astype(np.float64)


def _ranges(numbers: list[int]) -> str:
    """Return increasing numbers as text such as `1-4, 7`."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], number
        else:
            spans.append((number, number))
    return ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in spans)
