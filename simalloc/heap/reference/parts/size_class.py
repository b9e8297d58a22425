"""Size classes; each covers the sizes from its start to below the next class's start."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Final

from simalloc.policy.parts import Spacing

_LEA_WIDTHS: Final = [
    *[8] * 64,
    *[64] * 32,
    *[512] * 16,
    *[4096] * 8,
    *[32768] * 4,
    *[262144] * 2,
]


class SizeClasses:
    """Maps a block size to its class.

    Equal classes begin at multiples of `interval`. Each of Lea's classes covers the sizes above the
    previous class's end, up to its own end.
    """

    def __init__(self, count: int, interval: int, spacing: Spacing = Spacing.EQUAL) -> None:
        if spacing is Spacing.EQUAL:
            self._starts = [interval * number for number in range(count)]
        else:
            self._starts = [end + 1 for end in accumulate(_LEA_WIDTHS, initial=0)]

    def __len__(self) -> int:
        return len(self._starts)

    def of(self, size: int) -> int:
        """Return the number of the class of blocks of this size."""
        return bisect_right(self._starts, size) - 1
