"""Traces that are samples: recorded with `--every`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.trace.source import EventSource


def sampled_every(provenance: Mapping[str, Any]) -> int:
    """Return the bytes from one sampled byte to the next; 0 if the trace is not a sample."""
    every = provenance.get("every")
    return every if type(every) is int and every > 0 else 0


def refuse_sample(source: EventSource) -> None:
    """Raise `SimallocError` if a trace is a sample, which cannot stand for the whole program."""
    if sampled_every(source.provenance):
        raise SimallocError(
            f"{source.name} is a sample (--every), which lacks most of the program's objects. No "
            "heap can be predicted from it. Record without --every; `simalloc sites` reads samples"
        )


def blocks_like(size: NDArray[np.int64], every: int) -> NDArray[np.float64]:
    """Return for how many blocks of its size each block of a sample stands; 1 if `every` is 0.

    A block is in the sample with the chance 1 - exp(-size / every), which counts a block of no
    bytes as one.
    """
    if every == 0:
        return np.ones(len(size))
    weights: NDArray[np.float64] = -1 / np.expm1(-np.maximum(size, 1) / every)
    return weights
