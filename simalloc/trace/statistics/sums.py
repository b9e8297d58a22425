"""Sums that are exact, whatever they come to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class GroupSums:
    """Sums of int64 values of any size by group, numbered from 0; adds up in Python's integers."""

    def __init__(self, groups: int) -> None:
        self._groups = groups
        self._sums = [0] * groups

    def add(self, group: NDArray[np.integer], values: NDArray[np.int64]) -> None:
        """Add at most 2**31 values, each to the sum of its group."""
        high, low = np.zeros(self._groups, np.int64), np.zeros(self._groups, np.int64)
        np.add.at(high, group, values >> 32)
        np.add.at(low, group, values & 0xFFFFFFFF)
        pairs = zip(high.tolist(), low.tolist(), strict=True)
        self._sums = [
            sum_ + (upper << 32) + lower
            for sum_, (upper, lower) in zip(self._sums, pairs, strict=True)
        ]

    def __getitem__(self, group: int) -> int:
        return self._sums[group]
