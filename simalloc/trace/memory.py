"""Memory for columns that come and go: what nobody holds any more is given out again.

The first touch of 4 KB that the system hands out takes as long as decoding some hundred events.
"""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import Final
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

PIECE: Final = 1 << 21
"""Bytes of a piece: a huge page."""
KEPT: Final = 16
"""Maximum number of pieces kept for reuse."""

_kept: list[mmap.mmap] = []


def borrow(length: int) -> NDArray[np.uint8]:
    """Return memory, whatever is in it; they are used again when no view of them is left.

    More than a piece is fresh memory each time.
    """
    if length > PIECE:
        return np.empty(length, np.uint8)
    try:
        piece = _kept.pop()
    except IndexError:
        piece = _new_piece()
    whole = np.frombuffer(piece, np.uint8)  # kept alive by views of it: its memory is not its own
    finalize(whole, _give_back, piece).atexit = False
    return whole[:length]


def _new_piece() -> mmap.mmap:
    try:
        piece = mmap.mmap(-1, PIECE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError from error
    with suppress(OSError):  # a kernel may have none
        piece.madvise(mmap.MADV_HUGEPAGE)
    return piece


def _give_back(piece: mmap.mmap) -> None:
    if len(_kept) < KEPT:
        _kept.append(piece)
