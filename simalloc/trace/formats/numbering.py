"""Numbering of distinct values with consecutive small numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Numbering:
    """Numbers values in the order in which they first appear."""

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._numbers: dict[int, int] = {}
        self.new: list[int] = []
        """Indexes of the values of the last call that were new, in order."""

    def __call__(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values' numbers."""
        different, at, which = np.unique(values, return_index=True, return_inverse=True)
        numbers = np.empty(len(different), np.int64)
        self.new = []
        for place in np.argsort(at):
            value, fresh = int(different[place]), self._first + len(self._numbers)
            numbers[place] = self._numbers.setdefault(value, fresh)
            if numbers[place] == fresh:
                self.new.append(int(at[place]))
        return numbers[which]
