"""The heap at one moment: which blocks tile it, and what each of them holds."""

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
"""The scaled address from which on memory is mapped apart; the break lies below."""

LOWEST_POWER: Final = -64
SIZE_POWERS: Final = 128
"""Number of size classes, one for each power of two in program bytes."""


class Tiling(NamedTuple):
    """Blocks of the heap by address, scaled; an entry a block in every array."""

    address: NDArray[np.int64]
    size: NDArray[np.int64]
    slot: NDArray[np.int64]
    """Where the trace numbers the object that lives there, or the block's state, such as `FREE`."""

    @classmethod
    def empty(cls, count: int) -> Tiling:
        """Return room for `count` blocks."""
        return cls(*(np.empty(count, np.int64) for _ in cls._fields))


@dataclass(frozen=True, eq=False)
class HeapSnapshot:
    """Blocks that tile a heap, or a part of it, after an event, in the order of their addresses.

    All arrays have an entry per block. Bytes are the program's. Blocks without an object have 0
    requested bytes and `since` of -1.
    """

    event: int
    heap_bytes: float
    address: NDArray[np.float64]
    size: NDArray[np.float64]
    """Bytes taken, at least those requested."""
    object: NDArray[np.int64]
    """The object's number, or the block's state, such as `FREE`."""
    requested: NDArray[np.int64]
    since: NDArray[np.int64]
    """The event that put the object there or gave it its size."""
    exact_address: NDArray[np.int64]
    """In scaled bytes; `address` is a float, in which near ones above 2**53 are the same."""
    exact_size: NDArray[np.int64]
    """In scaled bytes."""

    def __len__(self) -> int:
        return len(self.address)

    @classmethod
    def joined(cls, parts: Sequence[HeapSnapshot]) -> HeapSnapshot:
        """Return parts of a heap, at least one, as one snapshot."""
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
