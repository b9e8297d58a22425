"""How far an average over traces can be trusted: the bootstrap (Efron 1979).

The traces are a sample of all programs: another sample would give other averages. The bootstrap
draws such samples from the traces themselves. All draws are from a fixed seed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

RESAMPLES: Final = 10_000
_SEED: Final = 0
_AT_ONCE: Final = 1024


def mean_intervals(
    values: NDArray[np.float64], confidence: float = 0.95, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Return the low and high end of each row's mean over its columns (2 x rows).

    The ends are percentiles of the means of `resamples` samples of the columns; with few columns
    they are too near to each other rather than too far apart.
    """
    tail = (1 - confidence) / 2
    return np.quantile(bootstrap_means(values, resamples), [tail, 1 - tail], axis=0)


def bootstrap_means(values: NDArray[np.float64], resamples: int) -> NDArray[np.float64]:
    """Return row means of resampled columns (resamples x rows), the same sample for all rows."""
    rows, columns = values.shape
    generator = np.random.default_rng(_SEED)
    means = np.empty((resamples, rows))
    for start in range(0, resamples, _AT_ONCE):
        drawn = generator.integers(columns, size=(min(_AT_ONCE, resamples - start), columns))
        counts = np.zeros((len(drawn), columns))
        np.add.at(counts, (np.arange(len(drawn))[:, None], drawn), 1 / columns)
        means[start : start + len(drawn)] = counts @ values.T
    return means
