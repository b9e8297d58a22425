"""Numbers of the size bins of Lea's mallocs and of glibc."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

LAST_BIN: Final = 126
"""Number of the bin for all sizes above the last range."""

LEA_BINS: Final = (
    (512, 3, 0),
    (2560, 6, 56),
    (10752, 9, 91),
    (43520, 12, 110),
    (174592, 15, 119),
    (698880, 18, 124),
)
"""Ranges of sizes: the end of each range, and the shift and the summand of its bin numbers."""


def bin_number(ranges: Sequence[tuple[int, int, int]], size: int) -> int:
    """Return the bin number of a size.

    Two ranges can share a number, and their sizes then share a bin. For example, number 120 covers
    Lea's sizes from 40,960 to 65,535, of two ranges.
    """
    return next((first + (size >> shift) for end, shift, first in ranges if size < end), LAST_BIN)
