"""Which memory went back because the program emptied the cache, and which to make room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.trace.formats import pytorch_pickle as entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.trace.formats.pytorch_history import History

TAKES: Final = (entries.SEGMENT, entries.MAP)
GIVES: Final = (entries.SEGMENT_BACK, entries.UNMAP)
_SMALL: Final = 1 << 20
_LEAST_LARGE: Final = 10 << 20
"""Requests up to `_SMALL` have segments of their own, which are smaller than all others."""


def given_back(history: History) -> list[tuple[int, int]]:
    """Return where memory went back in a row: the first entry and the one past the last."""
    gives = np.isin(history.column("action"), GIVES).astype(np.int8)
    edges = np.flatnonzero(np.diff(gives, prepend=0, append=0))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def emptied(history: History) -> NDArray[np.int64]:
    """Return the entries with which the program began to empty the cache.

    Frames tell. Without them, what went back in a row is the program's unless it can have been to
    make room for the request that follows.
    """
    action, told = history.column("action"), history.column("empties")
    runs = given_back(history)
    if (told[np.isin(action, GIVES)] != entries.UNKNOWN).any():
        return np.array([begin for begin, _ in runs if told[begin] == 1], np.int64)
    others = np.append(np.flatnonzero(~np.isin(action, TAKES)), len(action))
    requests = others[np.searchsorted(others, [end for _, end in runs])].tolist()
    before, peak = history.reserved_before(), history.reserved_peak()
    programs = [
        begin
        for (begin, end), request in zip(runs, requests, strict=True)
        if not _makes_room(history, begin, end, request, int(peak - before[begin]))
    ]
    return np.array(programs, np.int64)


def _makes_room(history: History, begin: int, end: int, request: int, room: int) -> bool:
    """Whether what went back from `begin` to `end` can have made room for the entry `request`.

    It can if that failed, or if it took more than what `room` there was at least, and could not
    have been served by what went back.
    """
    action, size = history.column("action"), history.column("size")
    follows = action[request] if request < len(action) else entries.NO_EVENT
    if follows == entries.OOM:
        return True
    if _taken_besides(history, begin, end, request) <= room:
        return False
    if follows != entries.ALLOC:
        return True
    given, asked, stream = size[begin:end], size[request], history.column("stream")
    alike = (stream[begin:end] == stream[request]) & ((given < _LEAST_LARGE) == (asked <= _SMALL))
    kept = (asked < history.max_split) & (given >= history.max_split)
    return not (alike & (given >= asked) & ~kept).any()


def _taken_besides(history: History, begin: int, end: int, request: int) -> int:
    """Return the bytes taken from `end` to `request`, without pages that had just gone back."""
    address, size = history.column("address"), history.column("size")
    given = begin + np.flatnonzero(history.column("action")[begin:end] == entries.UNMAP)
    taken, taken_size = address[end:request, None], size[end:request, None]
    upper = np.minimum(taken + taken_size, address[given] + size[given])
    again = np.maximum(upper - np.maximum(taken, address[given]), 0)
    return int(taken_size.sum() - again.sum())
