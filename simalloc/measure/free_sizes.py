"""How large the free blocks are, over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from simalloc.heap import FREE, tilings

if TYPE_CHECKING:
    from collections.abc import Callable

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


def free_sizes(
    source: EventSource,
    run: Run,
    *,
    count: int = COUNT,
    progress: Callable[[int], None] = lambda _: None,
) -> FreeSizes:
    """Return how large a run's free blocks are at `count` moments.

    The trace is replayed for it; `progress` is called with the number of events done since its last
    call. Raises `SimallocError` if the run is not the trace's.
    """
    count = min(count, len(source))
    events = np.arange(1, count + 1) * len(source) // max(count, 1) - 1
    moments = [
        _by_class(tiling.size[tiling.slot == FREE] / run.scale)
        for tiling in tilings(source, run, events.tolist(), progress=progress)
    ]
    kept = [one for one in moments if len(one.blocks)]
    first = min((one.first for one in kept), default=0)
    last = max((one.first + len(one.blocks) for one in kept), default=1)
    blocks = np.zeros((last - first, count), np.int64)
    amount = np.zeros(blocks.shape)
    for place, one in enumerate(moments):
        rows = slice(one.first - first, one.first - first + len(one.blocks))
        blocks[rows, place] = one.blocks
        amount[rows, place] = one.bytes
    return FreeSizes(events, first, blocks, amount)


class _Classes(NamedTuple):
    """Free blocks and their bytes by size class, from the `first` on."""

    first: int
    blocks: NDArray[np.int64]
    bytes: NDArray[np.float64]


def _by_class(size: NDArray[np.float64]) -> _Classes:
    """Sum up blocks of these sizes by class."""
    number = np.frexp(size)[1] - 1
    first = int(number.min()) if len(number) else 0
    amount = np.asarray(np.bincount(number - first, size), np.float64)
    return _Classes(first, np.bincount(number - first), amount)
