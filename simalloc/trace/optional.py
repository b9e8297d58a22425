"""The packing of a chunk's optional columns (docs/trace-format.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import TraceError
from simalloc.trace.chunk import check_planes, from_planes, to_planes
from simalloc.trace.events import COLUMNS_OF_BYTES, MAX_SIZE, OPTIONAL_COLUMNS


class Clock:
    """Conversion of times to and from differences between successive events."""

    def __init__(self) -> None:
        self._last = np.zeros(1, np.int64)

    def differences(self, times: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the differences, wrapped at 64 bits, with the sign in the lowest bit."""
        steps = np.diff(times, prepend=self._last)
        self._last = times[-1:].copy()
        return ((steps << 1) ^ (steps >> 63)).view(np.uint64)

    def times(self, differences: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the times with these differences."""
        one = np.uint64(1)
        steps = ((differences >> one) ^ (~(differences & one) + one)).view(np.int64)
        times = np.cumsum(steps) + self._last
        self._last = times[-1:].copy()
        return times


def pack_column(name: str, values: NDArray[Any], clock: Clock) -> NDArray[np.uint8]:
    """Pack the next chunk of an optional column."""
    return to_planes(clock.differences(values) if name == "time" else values)


def unpack_column(name: str, planes: NDArray[np.uint8], clock: Clock) -> NDArray[Any]:
    """Return the next chunk of an optional column.

    Raises `TraceError` for a number out of range.
    """
    check_planes(planes, name)
    values = from_planes(planes)
    if name == "time":
        return clock.times(values)
    dtype = OPTIONAL_COLUMNS[name]
    limit = MAX_SIZE if name in COLUMNS_OF_BYTES else np.iinfo(dtype).max
    if len(values) and int(values.max()) > limit:
        raise TraceError(f"column {name} contains a number above {limit}")
    return values.astype(dtype)
