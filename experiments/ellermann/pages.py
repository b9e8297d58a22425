"""Distances between allocations."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

PAGE_BYTES: Final = 4096
SPAN: Final = 1000


def pages_touched(addresses: NDArray[np.int64]) -> float:
    """Return the mean number of 4 KB pages in which `SPAN` consecutive allocations begin.

    `addresses` are a run's addresses at scale 1, in bytes, one per event and -1 for a free.
    """
    pages = addresses[addresses >= 0] // PAGE_BYTES
    spans = [pages[start : start + SPAN] for start in range(0, max(len(pages) - SPAN, 0) + 1, SPAN)]
    return float(np.mean([len(np.unique(one)) for one in spans]))
