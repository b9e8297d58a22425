"""Traces that are samples, recorded with `--every`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.trace.source import EventSource


def sampled_every(provenance: Mapping[str, Any]) -> int:
    """Return the mean bytes from one sampled byte to the next, or 0 for a complete trace."""
    every = provenance.get("every")
    return every if type(every) is int and every > 0 else 0


def refuse_sample(source: EventSource) -> None:
    """Raise `SimallocError` if a trace is a sample, which does not represent the whole program."""
    if sampled_every(source.provenance):
        raise SimallocError(
            f"{source.name} is a sample (--every), which lacks most of the program's "
            "objects, so no heap can be predicted from it. Record without --every, or use "
            "`simalloc sites`, which reads samples"
        )


def blocks_like(size: NDArray[np.int64], every: int) -> NDArray[np.float64]:
    """Return the number of blocks that each block of a sample represents, 1 if `every` is 0.

    A block is in the sample with probability 1 - exp(-size / every). A block of 0 bytes counts as 1
    byte.
    """
    if every == 0:
        return np.ones(len(size))
    weights: NDArray[np.float64] = -1 / np.expm1(-np.maximum(size, 1) / every)
    return weights
