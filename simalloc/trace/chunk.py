"""The packing of a run of events into bytes, which trace files store and digests cover.

docs/trace-format.md defines every byte. A chunk contains only ops, the sizes of allocations, and
the ages of objects. An event on a live object has an age: the number of objects allocated since
that object, or 0 if the event has no object.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import TraceError
from simalloc.trace.events import allocates, begins, is_of_none

CHUNK_EVENTS: Final = 1 << 20
"""Number of events in every chunk except the last."""

MAX_PLANES: Final = 8


class Packed(NamedTuple):
    """A chunk's events as byte planes."""

    op: NDArray[np.uint8]
    size: NDArray[np.uint8]
    age: NDArray[np.uint8]


def pack(
    op: NDArray[np.uint8], objects: NDArray[np.int64], size: NDArray[np.int64], allocated: int
) -> Packed:
    """Pack a run of valid events. `allocated` objects were allocated before the run."""
    new = begins(op)
    ages = np.cumsum(new) + allocated - objects
    ages[is_of_none(op)] = 0
    return Packed(op.reshape(1, -1), to_planes(size[allocates(op)]), to_planes(ages[~new]))


def check_packed(packed: Packed, events: int) -> None:
    """Raise `TraceError` unless the chunk is the canonical packing of `events` events."""
    if packed.op.shape != (1, events):
        raise TraceError(f"it has {packed.op.size} bytes of ops for {events} events")
    check_planes(packed.size, "size")
    check_planes(packed.age, "age")


def to_planes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of unsigned or non-negative numbers, lowest first, as rows of an array.

    The number of rows is the number of bytes of the largest number, and at least 1.
    """
    largest = int(values.max()) if len(values) else 0
    width = max(1, (largest.bit_length() + 7) // 8)
    every_byte = values.astype("<u8").view(np.uint8).reshape(len(values), 8)
    return np.ascontiguousarray(every_byte[:, :width].T)


def from_planes(planes: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the numbers from which `to_planes` made the array."""
    values: NDArray[np.uint64] = planes[0].astype(np.uint64)
    for place, plane in enumerate(planes[1:], start=1):
        values |= plane.astype(np.uint64) << np.uint64(8 * place)
    return values


def check_planes(planes: NDArray[np.uint8], name: str) -> None:
    """Raise `TraceError` unless the number of planes is minimal."""
    if len(planes) > 1 and not planes[-1].any():
        raise TraceError(f"column {name} is wider than necessary")
