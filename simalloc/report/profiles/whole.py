"""Shares of bytes as whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def whole_numbers(values: NDArray[Any]) -> list[int]:
    """Return values rounded up or down so that the sums of the first ones are off by 1/2 at most.

    Therefore the total is the rounded total of the values.
    """
    found: list[int] = np.diff(np.rint(np.cumsum(values)), prepend=0).astype(np.int64).tolist()
    return found
