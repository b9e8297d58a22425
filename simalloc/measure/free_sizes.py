"""How large the free blocks are, over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.heap import FREE, tilings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.heap import Run
    from simalloc.trace import EventSource

COUNT: Final = 128


@dataclass(frozen=True, eq=False)
class FreeSizes:
    """Free blocks by size class at moments spread evenly over a run.

    Class `c` holds free blocks of at least `2**(first_class + c)` bytes of the program and less
    than twice that.
    """

    events: NDArray[np.int64]
    """The event after which each moment is: (moments,)."""
    first_class: int
    blocks: NDArray[np.int64]
    """Free blocks: (classes, moments)."""
    bytes: NDArray[np.float64]
    """What they add up to: (classes, moments)."""


def free_sizes(source: EventSource, run: Run, *, count: int = COUNT) -> FreeSizes:
    """Return how large a run's free blocks are at `count` moments.

    The trace is replayed for it. Raises `SimallocError` if the run is not the trace's.
    """
    count = min(count, len(source))
    events = np.arange(1, count + 1) * len(source) // max(count, 1) - 1
    sizes = [
        tiling.size[tiling.slot == FREE] / run.scale
        for tiling in tilings(source, run, events.tolist())
    ]
    exponents = [np.frexp(size)[1] - 1 for size in sizes]
    every = np.concatenate(exponents) if exponents else np.zeros(0, np.int32)
    lowest, highest = (int(every.min()), int(every.max())) if len(every) else (0, 0)
    blocks = np.zeros((highest - lowest + 1, count), np.int64)
    amount = np.zeros(blocks.shape)
    for place, (exponent, size) in enumerate(zip(exponents, sizes, strict=True)):
        blocks[:, place] = np.bincount(exponent - lowest, minlength=len(blocks))
        amount[:, place] = np.bincount(exponent - lowest, size, minlength=len(blocks))
    return FreeSizes(events, lowest, blocks, amount)
