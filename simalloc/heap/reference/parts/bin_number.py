"""The bins of Lea's mallocs and glibc's, which are numbered in one sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

LAST_BIN: Final = 126
"""The bin of all sizes behind the last range."""

LEA_BINS: Final = (
    (512, 3, 0),
    (2560, 6, 56),
    (10752, 9, 91),
    (43520, 12, 110),
    (174592, 15, 119),
    (698880, 18, 124),
)
"""Ranges of sizes: their end, and the shift and the summand of their numbers."""


def bin_number(ranges: Sequence[tuple[int, int, int]], size: int) -> int:
    """Return the number of a size's bin.

    Numbers of two ranges may be equal: their sizes then share a bin. For example, Lea's sizes from
    40,960 to 43,519 have number 120, as those up to 65,535 have.
    """
    return next((first + (size >> shift) for end, shift, first in ranges if size < end), LAST_BIN)
