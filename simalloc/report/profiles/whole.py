"""Rounding of shares of bytes to whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def whole_numbers(values: NDArray[Any]) -> list[int]:
    """Return values rounded so that the error of every partial sum is at most 1/2.

    Therefore the total is the rounded total of the values.
    """
    found: list[int] = np.diff(np.rint(np.cumsum(values)), prepend=0).astype(np.int64).tolist()
    return found
