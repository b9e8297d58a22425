"""How a run of events is packed into bytes: what the project's file stores and the digest covers.

docs/trace-format.md has it to the byte. A chunk keeps no more than it must: ops in two bits, the
size of what is allocated, and for the other events how many objects ago theirs was allocated (0:
it is of no object).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from simalloc.errors import TraceError
from simalloc.trace.events import Op, allocates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

CHUNK_EVENTS: Final = 1 << 20
"""Every chunk but the last holds this many events."""

MAX_PLANES: Final = 8


class Packed(NamedTuple):
    """A chunk's events: ops four a byte (shape (events + 3) // 4), and byte planes."""

    op: NDArray[np.uint8]
    size: NDArray[np.uint8]
    age: NDArray[np.uint8]


def pack(
    op: NDArray[np.uint8], objects: NDArray[np.int64], size: NDArray[np.int64], allocated: int
) -> Packed:
    """Pack a run of valid events; `allocated` objects came before it."""
    quads = np.zeros(((len(op) + 3) // 4, 4), np.uint8)
    quads.reshape(-1)[: len(op)] = np.minimum(op, Op.USE)
    packed_op = np.bitwise_or.reduce(quads << np.array([0, 2, 4, 6], np.uint8), axis=1)
    ages = np.cumsum(op == Op.MALLOC) + allocated - objects
    ages[op == Op.EMPTY] = 0
    return Packed(packed_op, to_planes(size[allocates(op)]), to_planes(ages[op != Op.MALLOC]))


def check_packed(packed: Packed, events: int) -> None:
    """Raise `TraceError` unless the chunk is the only way to pack its events."""
    used = events % 4
    if used and packed.op[-1] >> 2 * used:
        raise TraceError("there are ops beyond the last event")
    check_planes(packed.size, "size")
    check_planes(packed.age, "age")


def to_planes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of unsigned or non-negative numbers, lowest first, as rows of an array.

    There are as many rows as the largest number needs, and at least one.
    """
    largest = int(values.max()) if len(values) else 0
    width = max(1, (largest.bit_length() + 7) // 8)
    every_byte = values.astype("<u8").view(np.uint8).reshape(len(values), 8)
    return np.ascontiguousarray(every_byte[:, :width].T)


def from_planes(planes: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the numbers of which `to_planes` made the array."""
    values: NDArray[np.uint64] = planes[0].astype(np.uint64)
    for place, plane in enumerate(planes[1:], start=1):
        values |= plane.astype(np.uint64) << np.uint64(8 * place)
    return values


def check_planes(planes: NDArray[np.uint8], name: str) -> None:
    """Raise `TraceError` unless there are as few planes as can be."""
    if len(planes) > 1 and not planes[-1].any():
        raise TraceError(f"column {name} is wider than it need be")


class Digest:
    """The SHA-256 of a trace's events, fed a chunk at a time."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()

    def update(self, packed: Packed, identifying: Mapping[str, NDArray[np.uint8]]) -> None:
        """Add the next chunk: its three arrays, and the columns of `IDENTIFYING` by their names.

        Each array stands behind its number of bytes (uint64), and a column behind its name.
        """
        for array in packed:
            self._add(array)
        for name, planes in identifying.items():
            self._sha256.update(name.encode())
            self._add(planes)

    def _add(self, array: NDArray[np.uint8]) -> None:
        self._sha256.update(array.nbytes.to_bytes(8, "little"))
        self._sha256.update(np.ascontiguousarray(array).data)

    def hexdigest(self) -> str:
        """Return the digest so far."""
        return self._sha256.hexdigest()
