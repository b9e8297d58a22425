"""The bootstrap interval of an average over programs (Efron 1979).

Programs are a sample of all programs: another sample would have another average. The bootstrap
draws such samples from the programs themselves. Within each program, it draws from the program's
traces, which may be generated from several seeds. This method is a two-stage bootstrap (Davison &
Hinkley 1997, section 3.8). Traces of one program are therefore never counted as several programs.
All draws are from a fixed seed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

RESAMPLES: Final = 10_000
_SEED: Final = 0
_AT_ONCE: Final = 1024


def program_means(values: NDArray[np.float64], programs: Sequence[Hashable]) -> NDArray[np.float64]:
    """Return each row's mean over the traces of each program (rows x programs).

    `programs` names the program of each column of `values`. The programs of the result are in order
    of first occurrence.
    """
    return values @ _shares(_groups(programs)).T


def mean_intervals(
    values: NDArray[np.float64],
    programs: Sequence[Hashable],
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> NDArray[np.float64]:
    """Return the low and high ends of the confidence interval of each row's mean (2 x rows).

    `values` (float64, rows x traces) belong to the `programs` of their columns. Means are over
    programs. The ends are percentiles of the means of `resamples` samples. With few programs the
    intervals tend to be too narrow.
    """
    tail = (1 - confidence) / 2
    return np.quantile(bootstrap_means(values, programs, resamples), [tail, 1 - tail], axis=0)


def bootstrap_means(
    values: NDArray[np.float64], programs: Sequence[Hashable], resamples: int
) -> NDArray[np.float64]:
    """Return row means of resampled programs (resamples x rows), one sample for all rows."""
    groups = _groups(programs)
    generator = np.random.default_rng(_SEED)
    means = np.empty((resamples, len(values)))
    for start in range(0, resamples, _AT_ONCE):
        weights = _sample(groups, min(_AT_ONCE, resamples - start), generator)
        means[start : start + len(weights)] = weights @ values.T
    return means


def _sample(
    groups: Sequence[NDArray[np.intp]], samples: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return the weight of each trace in each sample (samples x traces).

    The weights of a sample sum to 1.
    """
    drawn = generator.integers(len(groups), size=(samples, len(groups)))
    weights = np.zeros((samples, sum(map(len, groups))))
    for number, group in enumerate(groups):
        row, _ = np.nonzero(drawn == number)
        traces = group[generator.integers(len(group), size=(len(row), len(group)))]
        np.add.at(weights, (row[:, None], traces), 1 / (len(groups) * len(group)))
    return weights


def _groups(programs: Sequence[Hashable]) -> list[NDArray[np.intp]]:
    """Return the columns of each program."""
    columns: dict[Hashable, list[int]] = {}
    for column, program in enumerate(programs):
        columns.setdefault(program, []).append(column)
    return [np.array(group, np.intp) for group in columns.values()]


def _shares(groups: Sequence[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Return the weight of each trace in its program's mean (programs x traces)."""
    shares = np.zeros((len(groups), sum(map(len, groups))))
    for row, group in zip(shares, groups, strict=True):
        row[group] = 1 / len(group)
    return shares
