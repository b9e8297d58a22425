"""Sizes with space for alignment, for placement methods without alignment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.timetable import Timetable

Ints = NDArray[np.int64]


class Spaced:
    """A timetable whose sizes leave space to align each object.

    Two ways are compared, and the way with the lower peak is used. Either all sizes are rounded up
    to multiples of the largest alignment, or each size increases by the object's alignment minus 1.
    The first way requires that every alignment divides the largest one.
    """

    def __init__(self, table: Timetable) -> None:
        alignment = table.alignment
        largest = int(alignment.max(initial=1))
        self._alignment = alignment
        self._is_aligned = largest > 1
        self.table = table
        if self._is_aligned:
            self.table = table.with_sizes(table.size + alignment - 1)
            if not (largest % alignment).any():
                multiples = table.with_sizes(_up(table.size, np.int64(largest)))
                self.table = min(multiples, self.table, key=lambda one: one.peak)

    def settled(self, address: Ints) -> Ints:
        """Return the addresses of a placement of these sizes, rounded up to their alignments."""
        return _up(address, self._alignment) if self._is_aligned else address


def _up(bytes_: Ints, multiple: Ints | np.int64) -> Ints:
    """Round up to multiples."""
    found: Ints = -(-bytes_ // multiple) * multiple
    return found
