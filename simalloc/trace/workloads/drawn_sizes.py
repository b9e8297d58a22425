"""Random sizes of objects with the shares and means that a paper prints.

Only the order of the sizes is random. Counts are exact. The sizes of a range are taken at even
steps of its distribution, so that the total bytes are exact too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

STEP: Final = 8
"""Sizes are multiples of a double word, as Bohra & Gabber 2001 round them (tables 1 and 2)."""

_STEEPEST: Final = 64.0
_STEPS: Final = 60
_NEAR: Final = 1e-9


def exact_counts(shares: Sequence[float], total: int) -> list[int]:
    """Return integer counts that are proportional to the shares and total `total`.

    The counts that are nearest to the next integer are rounded up.
    """
    exact = np.asarray(shares, float) / sum(shares) * total
    counts = np.floor(exact).astype(np.int64)
    missing = total - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return [int(count) for count in counts]


def power_law(
    generator: np.random.Generator, count: int, smallest: int, largest: int, mean: float
) -> NDArray[np.int64]:
    """Return sizes from `smallest` to `largest` with a given mean, in random order.

    The frequency of size s is proportional to s**-a (Zipf's law). The mean determines the exponent
    a. The result has shape (count,). Raises `ValueError` for a mean outside the range.
    """
    return generator.permutation(power_law_ascending(count, smallest, largest, mean))


def power_law_ascending(count: int, smallest: int, largest: int, mean: float) -> NDArray[np.int64]:
    """Return the sizes of `power_law` in ascending order: the middle of each of `count` steps."""
    if not smallest < mean < largest:
        raise ValueError(f"sizes of {smallest} to {largest} cannot have a mean of {mean:g}")
    sizes = np.arange(smallest, largest + 1, STEP)
    upto = np.cumsum(_weights(sizes, _exponent(sizes, mean)))
    steps = (np.arange(count) + 0.5) / count * upto[-1]
    return np.asarray(sizes[np.searchsorted(upto, steps)], np.int64)


def exponent(smallest: int, largest: int, mean: float) -> float:
    """Return the exponent of `power_law`."""
    return _exponent(np.arange(smallest, largest + 1, STEP), mean)


def _exponent(sizes: NDArray[np.int64], mean: float) -> float:
    """Find the exponent by Newton's method on the logarithm of the mean, within bounds."""
    logs = np.log(sizes)
    low, high, found = -_STEEPEST, _STEEPEST, 1.0
    for _ in range(_STEPS):
        weights = _weights(sizes, found)
        total = float(weights.sum())
        now = float(weights @ sizes) / total
        low, high = (found, high) if now > mean else (low, found)
        slope = float(weights @ logs) / total - float((weights * logs) @ sizes) / total / now
        step = np.log(mean / now) / slope if slope else np.inf
        if abs(step) < _NEAR:
            break
        found = found + step if low < found + step < high else (low + high) / 2
    return found


def _weights(sizes: NDArray[np.int64], exponent: float) -> NDArray[np.float64]:
    """Return the frequency of each size. The more frequent end of the range has frequency 1."""
    most = sizes[0] if exponent > 0 else sizes[-1]
    return np.asarray(np.exp(-exponent * np.log(sizes / most)))
