"""Alignment for placements that know of none: sizes with room for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.timetable import Timetable

Ints = NDArray[np.int64]


class Spaced:
    """A timetable whose sizes leave room to align each object.

    The better of two ways is chosen, by the lower peak: all sizes are multiples of the largest
    alignment, or each object with an alignment is larger by the maximum shift for its alignment.
    The first way is only for alignments that divide the largest one.
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
        """Return the addresses of a placement with these sizes, moved up to their alignments."""
        return _up(address, self._alignment) if self._is_aligned else address


def _up(bytes_: Ints, multiple: Ints | np.int64) -> Ints:
    """Round up to multiples."""
    found: Ints = -(-bytes_ // multiple) * multiple
    return found
