"""Distribution of a trace's objects and their bytes over sizes and lifetimes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.source import EventSource
from simalloc.trace.statistics.life_reader import LifeReader

_STEPS: Final = 64
"""Steps per doubling of the size or lifetime, finer than the eye can see."""


class Steps:
    """Objects and their bytes in steps of a value. A value of 0 counts as 1.

    `objects`, `bytes` and `largest` (int64) have one entry per step: the number of objects, their
    requested bytes, and the largest value.
    """

    def __init__(self) -> None:
        self.objects, self.bytes, self.largest = (np.zeros(64 * _STEPS, np.int64) for _ in range(3))

    def add(self, values: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Count objects with these values and sizes."""
        values = np.maximum(values, 1)
        step = (np.log2(values) * _STEPS).astype(np.int64)
        np.add.at(self.objects, step, 1)
        np.add.at(self.bytes, step, sizes)
        np.maximum.at(self.largest, step, values)


@dataclass(frozen=True, eq=False)
class Spread:
    """Objects by size, and by lifetime in allocated bytes."""

    by_size: Steps
    by_lifetime: Steps


def spread_of(source: EventSource, *, progress: Callable[[float], None] = lambda _: None) -> Spread:
    """Return the distribution of a trace's objects. A realloc makes a new object.

    A trace file is read during the call. `progress` is called with the number of events processed
    since its last call.
    """
    spread = Spread(Steps(), Steps())
    for events in LifeReader(source):
        spread.by_size.add(events.ended.size, events.ended.size)
        spread.by_lifetime.add(events.ended.lifetime, events.ended.size)
        progress(len(events))
    return spread
