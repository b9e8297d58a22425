"""Chunks in files of versions 1 and 2 (docs/trace-format.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import TraceError
from simalloc.trace.chunk import Packed, from_planes
from simalloc.trace.digests import add_array
from simalloc.trace.events import DEVICE_COLUMNS, Op

LAST_EARLIER: Final = 2
"""The last version that this module reads."""

_FOUR_OPS: Final = np.arange(256)[:, np.newaxis] >> np.array([0, 2, 4, 6]) & 3
_OPS_OF_BYTE: Final = _FOUR_OPS.astype(np.uint8)


class EarlierChunks:
    """Converts chunks of earlier versions, in order, to the present form, and digests them.

    A byte contained four ops, the first op in the lowest bits. Op 3 was a use or, with an age of 0,
    an empty. One digest covered the events and the columns `stream` and `pool`.
    """

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def changed(
        self, packed: Packed, events: int, columns: Mapping[str, NDArray[np.uint8]]
    ) -> Packed:
        """Return a chunk of `events` events in its present form.

        Raises `TraceError` if the chunk has another number of ops, or if its ages do not match its
        ops.
        """
        for array in packed:
            add_array(self._digest, array)
        for name in DEVICE_COLUMNS:
            if name in columns:
                self._digest.update(name.encode())
                add_array(self._digest, columns[name])
        return packed._replace(op=_unpacked(packed.op, events, packed.age).reshape(1, -1))

    def hexdigest(self) -> str:
        """Return the digest so far."""
        return self._digest.hexdigest()


def _unpacked(packed: NDArray[np.uint8], events: int, age: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if len(packed) != (events + 3) // 4:
        raise TraceError(f"it has {len(packed)} bytes of ops for {events} events")
    if events % 4 and packed[-1] >> 2 * (events % 4):
        raise TraceError("there are ops beyond the last event")
    op: NDArray[np.uint8] = _OPS_OF_BYTE[packed].reshape(-1)[:events]
    if op.max(initial=0) == Op.USE:
        old, ages = np.flatnonzero(op != Op.MALLOC), from_planes(age)
        if len(old) != len(ages):
            raise TraceError("the numbers of ops, sizes and ages do not agree")
        op[old[(op[old] == Op.USE) & (ages == 0)]] = Op.EMPTY
    return op
