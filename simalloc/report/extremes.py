"""Lines over time that pass through every extreme, and the height of their charts."""

from __future__ import annotations

import sys
from typing import Final

import numpy as np
from numpy.typing import NDArray

HIGHEST: Final = 1.6
"""Maximum height of a chart as a multiple of the resident bytes. Higher lines are cut off."""


def both_extremes(
    interval: int, low: NDArray[np.float64], high: NDArray[np.float64], most: int = sys.maxsize
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times and values of a line that passes through the extremes of every interval.

    Adjacent intervals are joined until at most `most` are left.
    """
    together = max(1, -(-len(low) // most))
    if together > 1:
        firsts = np.arange(0, len(low), together)
        low, high = np.minimum.reduceat(low, firsts), np.maximum.reduceat(high, firsts)
        interval *= together
    time = interval * np.arange(len(low), dtype=np.float64).repeat(2)
    time[1::2] += interval - 1
    return time, np.stack((low, high), axis=1).ravel()
