"""Reusable memory for short-lived columns: memory without references is lent again.

The first access to 4 KB of new memory takes as long as decoding some hundred events.
"""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import Final
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

PIECE: Final = 1 << 21
"""Bytes of a piece: the size of a huge page."""
KEPT: Final = 16
"""Maximum number of pieces kept for reuse."""

_kept: list[mmap.mmap] = []


def borrow(length: int) -> NDArray[np.uint8]:
    """Return `length` bytes with arbitrary content; they are reused when no view of them is left.

    A request for more than a piece is always served with new memory.
    """
    if length > PIECE:
        return np.empty(length, np.uint8)
    try:
        piece = _kept.pop()
    except IndexError:
        piece = _new_piece()
    # a view refers to `whole`, not to `piece`, because `whole` does not own its memory
    whole = np.frombuffer(piece, np.uint8)
    finalize(whole, _give_back, piece).atexit = False
    return whole[:length]


def _new_piece() -> mmap.mmap:
    try:
        piece = mmap.mmap(-1, PIECE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError from error
    with suppress(OSError):  # a kernel may not support huge pages
        piece.madvise(mmap.MADV_HUGEPAGE)
    return piece


def _give_back(piece: mmap.mmap) -> None:
    if len(_kept) < KEPT:
        _kept.append(piece)
