"""Decoding of packed chunks into checked events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import TraceError
from simalloc.trace._c import Decoder
from simalloc.trace.chunk import Packed, check_packed
from simalloc.trace.digests import Digests
from simalloc.trace.earlier import LAST_EARLIER, EarlierChunks
from simalloc.trace.events import Reason, complaint
from simalloc.trace.header import Header, Totals
from simalloc.trace.memory import borrow

_RING_BYTES: Final = 1 << 20
"""Bytes of the slots of the youngest objects, sufficient for 262,144 objects."""


class Decoding:
    """Decodes the chunks of a file in order. Keeps the live objects from one chunk to the next."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._decoder = Decoder(borrow(_RING_BYTES).view(np.uint32))
        self._earlier = EarlierChunks() if header.version <= LAST_EARLIER else None
        self.digests = Digests()
        self._events = 0

    def begin(self, packed: Packed, events: int, columns: Mapping[str, NDArray[np.uint8]]) -> None:
        """Begin the next chunk, of `events` events, and digest it with the given columns.

        Raises `TraceError` if the chunk is not their canonical packing.
        """
        if self._earlier is not None:
            packed = self._earlier.changed(packed, events, columns)
        check_packed(packed, events)
        self.digests.update(packed, columns)
        self._decoder.begin(*packed, events)

    def decode(
        self,
        op: NDArray[np.uint8],
        size: NDArray[np.int64],
        slot: NDArray[np.uint32],
        *,
        live: NDArray[np.int64] | None = None,
        objects: NDArray[np.int64] | None = None,
    ) -> None:
        """Fill the requested columns with the chunk's next events.

        Raises `TraceError` if an event is invalid, or if the chunk does not contain exactly the
        sizes and ages that its events need.
        """
        sound, done, reason, number = self._decoder.decode(op, size, slot, live, objects)
        if reason != Reason.NONE:
            text = complaint(Reason(reason), int(op[done]), number, int(size[done]))
            raise TraceError(text, event=self._events + done)
        if not sound:
            raise TraceError("the numbers of ops, sizes and ages do not agree")
        self._events += len(op)

    def check(self) -> None:
        """Raise `TraceError` unless all chunks together agree with the header."""
        if Totals.of(self._decoder, self._events) != self._header.totals:
            raise TraceError("the totals in its header do not match its events")
        identity = self.digests.identity
        found = identity.events if self._earlier is None else self._earlier.hexdigest()
        if found != self._header.sha256:
            raise TraceError("its events do not match the SHA-256 in its header")
        for name, digest in identity.columns.items():
            if self._header.digests.get(name, digest) != digest:
                raise TraceError(f"column {name} does not match the SHA-256 in its header")
