"""Conversion of requested sizes to the sizes that a policy sees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simalloc.policy.parts import Overhead


def gross_sizes(requested: NDArray[np.int64], overhead: Overhead, scale: int) -> NDArray[np.int64]:
    """Return the scaled bytes of blocks for requests in bytes (docs/policies.md, Parts)."""
    whole = np.maximum(requested, 1) * scale + overhead.header + overhead.footer
    rounded = -(-whole // overhead.alignment) * overhead.alignment
    gross: NDArray[np.int64] = np.maximum(rounded, overhead.minimum)
    return gross
