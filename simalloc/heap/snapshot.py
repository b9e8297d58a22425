"""The heap after one event, as the blocks that tile it and their contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

FREE: Final = -1
WASTE: Final = -2
CACHED: Final = -3
TABLE: Final = -4
HOLE: Final = -5
"""State of a block without an object (docs/policies.md). A hole is not mapped."""

MAPPED_FROM: Final = 1 << 62
"""Lowest scaled address of separately mapped memory. Break memory has lower addresses."""

LOWEST_POWER: Final = -64
SIZE_POWERS: Final = 128
"""Number of size classes, one for each power of two in program bytes."""


class Tiling(NamedTuple):
    """Blocks of the heap in address order, in scaled bytes. Each array has one entry per block."""

    address: NDArray[np.int64]
    size: NDArray[np.int64]
    slot: NDArray[np.int64]
    """Slot of the object in the trace, or the block's state, such as `FREE`."""

    @classmethod
    def empty(cls, count: int) -> Tiling:
        """Return uninitialised arrays for `count` blocks."""
        return cls(*(np.empty(count, np.int64) for _ in cls._fields))


@dataclass(frozen=True, eq=False)
class HeapSnapshot:
    """Blocks that tile a heap, or a part of it, after an event, in address order.

    Each array has one entry per block. Sizes are in program bytes. A block without an object has 0
    requested bytes and a `since` of -1.
    """

    event: int
    heap_bytes: float
    address: NDArray[np.float64]
    size: NDArray[np.float64]
    """Size of the block, at least the requested bytes."""
    object: NDArray[np.int64]
    """The object's number, or the block's state, such as `FREE`."""
    requested: NDArray[np.int64]
    since: NDArray[np.int64]
    """Event that placed the object there or last changed its size."""
    exact_address: NDArray[np.int64]
    """Address in scaled bytes. `address` is a float and cannot distinguish neighbours above
    2**53.
    """
    exact_size: NDArray[np.int64]
    """Size in scaled bytes."""

    def __len__(self) -> int:
        return len(self.address)

    @classmethod
    def joined(cls, parts: Sequence[HeapSnapshot]) -> HeapSnapshot:
        """Join the parts of a heap, at least one, into one snapshot."""
        return cls(
            event=parts[0].event,
            heap_bytes=sum(part.heap_bytes for part in parts),
            address=np.concatenate([part.address for part in parts]),
            size=np.concatenate([part.size for part in parts]),
            object=np.concatenate([part.object for part in parts]),
            requested=np.concatenate([part.requested for part in parts]),
            since=np.concatenate([part.since for part in parts]),
            exact_address=np.concatenate([part.exact_address for part in parts]),
            exact_size=np.concatenate([part.exact_size for part in parts]),
        )
