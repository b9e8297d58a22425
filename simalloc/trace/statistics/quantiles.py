"""Exact quantiles of more values than fit in memory, in a few passes over the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

SHARES: Final = (0.9, 0.99, 0.999)
"""The shares for which tables 5 to 7 of Johnstone and Wilson 1998 print figures."""

_BITS: Final = 18
"""Number of bits of a quantile that each pass over the values determines."""


@dataclass
class _Range:
    """A range of values that contains some quantiles: from `low` to below `low + (1 << bits)`."""

    low: int
    bits: int
    below: int
    """Total weight of all smaller values."""
    places: list[int]
    weights: NDArray[np.int64]
    """Total weights of equal parts of the range."""


class Quantiles:
    """The smallest values that reach the `SHARES` of the total weight.

    Values are between 0 and `largest`; larger values count as `largest`. Add all values and then
    call `narrow`, repeatedly until `found` is set. Without values, all quantiles are 0.
    """

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._total: int | None = None
        self._ranges = [_range(0, largest.bit_length(), 0, list(range(len(SHARES))))]
        self._found: dict[int, int] = {}

    @property
    def found(self) -> tuple[int, ...] | None:
        """The quantiles, one per share, or None while they are unknown."""
        if len(self._found) < len(SHARES):
            return None
        return tuple(self._found[place] for place in range(len(SHARES)))

    def add(self, values: NDArray[np.int64], weights: NDArray[np.int64] | None = None) -> None:
        """Count values, each once or with its weight (int64)."""
        values = np.minimum(values, self._largest)
        for one in self._ranges:
            inside, weight = values - one.low, weights
            if self._total is not None:
                chosen = (inside >= 0) & (inside < 1 << one.bits)
                inside = inside[chosen]
                weight = None if weights is None else weights[chosen]
            np.add.at(one.weights, inside >> _shift(one.bits), 1 if weight is None else weight)

    def narrow(self) -> None:
        """Find the part of each range that contains its quantiles, after all values were added."""
        if self._total is None:
            self._total = int(self._ranges[0].weights.sum())
        ranges, self._ranges = self._ranges, []
        for one in ranges:
            self._narrow(one, self._total)

    def _narrow(self, one: _Range, total: int) -> None:
        reached = one.below + np.cumsum(one.weights)
        parts: dict[int, list[int]] = {}
        for place in one.places:
            part = int(np.searchsorted(reached, SHARES[place] * total))
            parts.setdefault(part, []).append(place)
        for part, places in parts.items():
            low = one.low + (part << _shift(one.bits))
            if _shift(one.bits):
                below = int(reached[part] - one.weights[part])
                self._ranges.append(_range(low, _shift(one.bits), below, places))
            else:
                self._found.update(dict.fromkeys(places, low))


def passes(largest: int) -> int:
    """Return the number of passes over values up to `largest`."""
    return max(1, -(-largest.bit_length() // _BITS))


def _shift(bits: int) -> int:
    return max(0, bits - _BITS)


def _range(low: int, bits: int, below: int, places: list[int]) -> _Range:
    return _Range(low, bits, below, places, np.zeros(1 << min(bits, _BITS), np.int64))
