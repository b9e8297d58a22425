"""Sizes of the free blocks over time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import LOWEST_POWER, SIZE_POWERS, HeapReplay, Run
from simalloc.measure.watch import watch
from simalloc.trace import EventSource

COUNT: Final = 128


@dataclass(frozen=True, eq=False)
class FreeSizes:
    """Free blocks by size class at moments spread evenly over a run.

    Class `c` contains the free blocks from `2**(first_class + c)` bytes of the program to less than
    twice that size.
    """

    events: NDArray[np.int64]
    """Event that precedes each moment: (moments,)."""
    first_class: int
    blocks: NDArray[np.int64]
    """Number of free blocks: (classes, moments)."""
    bytes: NDArray[np.float64]
    """Total bytes of the free blocks: (classes, moments)."""


def free_sizes(
    source: EventSource,
    run: Run,
    *,
    count: int = COUNT,
    progress: Callable[[int], None] = lambda _: None,
) -> FreeSizes:
    """Return the sizes of a run's free blocks at `count` moments.

    The trace is replayed; `progress` is called with the number of events done since its last call.
    Raises `SimallocError` if the run is not of the trace.
    """
    classes = FreeClasses(run, count)
    watch(source, run, observers=[classes], progress=progress)
    return classes.sizes()


class FreeClasses:
    """The free blocks of a run by size class, at moments spread evenly over it."""

    def __init__(self, run: Run, count: int = COUNT) -> None:
        count = min(count, run.events)
        self._events = np.arange(1, count + 1) * run.events // max(count, 1) - 1
        self._scale = run.scale
        self._sums = np.zeros((count, 2, SIZE_POWERS), np.int64)
        self._seen = 0
        self.events = self._events.tolist()

    def look(self, heap: HeapReplay) -> None:
        """Add the free blocks of the next moment."""
        self._sums[self._seen] = heap.free_sizes()
        self._seen += 1

    def sizes(self) -> FreeSizes:
        """Return the sums of all moments, in the range of classes that contain blocks."""
        blocks, amount = self._sums[:, 0].T, self._sums[:, 1].T
        used = np.flatnonzero(blocks.any(axis=1))
        first, last = (int(used[0]), int(used[-1])) if len(used) else (-LOWEST_POWER, -LOWEST_POWER)
        kept = slice(first, last + 1)
        return FreeSizes(
            events=self._events,
            first_class=first + LOWEST_POWER,
            blocks=blocks[kept],
            bytes=amount[kept] / self._scale,
        )
