"""Records as Johnstone & Wilson 1998 describe them (section 4): operation, location, size.

The paper does not define a layout; this is our interpretation. A record consists of three unsigned
words, all of 32 or all of 64 bits, in either byte order. A file contains only records:

    operation   1 malloc, 2 realloc, 3 free: the order of the paper's list
    location    the result of malloc; the argument of realloc and free
    size        the requested bytes; 0 for a free

The new location of a realloc is not recorded. The object is assumed to stay. If it moved, its free
has an unknown location.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import MAX_SIZE, Op
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.formats.stream import HEAD_BYTES
from simalloc.trace.shapes import ReadEvents

_WORDS: Final = 3  # words per record
_LAYOUTS: Final = ("<u4", ">u4", "<u8", ">u8")
_RECORDS: Final = 1 << 16
_UNKNOWN: Final = 255
_OPS: Final = np.array([_UNKNOWN, Op.MALLOC, Op.REALLOC, Op.FREE, _UNKNOWN], np.uint8)


@dataclass(frozen=True)
class _Records:
    """Reader of every layout. The beginning of a log determines its layout."""

    name: str = "johnstone-wilson"
    title: str = "Johnstone & Wilson's records"

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return _layout(head) is not None

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        layout = _layout(log.stream.peek(HEAD_BYTES))
        if layout is None:
            raise log.wrong(
                "is not made of records of three words (operation 1 to 3, location, size) of 32 or "
                "64 bits"
            )
        return Reading((), _batches(log, np.dtype(layout)))


def _layout(head: bytes) -> str | None:
    """Return the layout in which all whole records at a log's beginning are valid, or None."""
    for layout in _LAYOUTS:
        words = _words(head, np.dtype(layout))
        op, size = words[:, 0], words[:, 2]
        sensible = (op >= 1) & (op <= 3) & (size <= MAX_SIZE) & ((op != 3) | (size == 0))
        if len(words) and sensible.all() and op[0] == 1:
            return layout
    return None


def _words(block: bytes, dtype: np.dtype[np.unsignedinteger]) -> NDArray[np.uint64]:
    """Return the whole records of a block as an array of shape (records, 3)."""
    whole = len(block) // (_WORDS * dtype.itemsize) * _WORDS
    return np.frombuffer(block, dtype, whole).astype(np.uint64).reshape(-1, _WORDS)


def _batches(log: Log, dtype: np.dtype[np.unsignedinteger]) -> Iterator[Batch]:
    record = _WORDS * dtype.itemsize
    while block := log.stream.read(_RECORDS * record):
        words = _words(block, dtype)
        op = _OPS[np.minimum(words[:, 0], len(_OPS) - 1)]
        key, size = words[:, 1].astype(np.int64), words[:, 2].astype(np.int64)
        known = op != _UNKNOWN
        if not known.all():
            wrong = int(words[np.argmin(known), 0])
            log.complain(
                "records of an unknown operation",
                (
                    f"a record has the unknown operation {wrong}; the operations are 1 (malloc), 2 "
                    "(realloc) and 3 (free)"
                ),
                count=int(np.count_nonzero(~known)),
            )
        null = known & (key == 0)
        log.leave_out("records of a null pointer", int(np.count_nonzero(null)))
        events = ReadEvents(op, key, size).taken(known & ~null)
        yield Batch(events, hexadecimal=True)
        if len(block) % record:
            log.complain("last records that are cut off", "the last record is cut off")


FORMAT: Final = _Records()
