"""Segments that the program returned by emptying the cache, or the allocator to make space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.formats import pytorch_pickle as entries

if TYPE_CHECKING:
    from simalloc.trace.formats.pytorch_history import History

_SMALL: Final = 1 << 20
_MIN_LARGE: Final = 10 << 20
"""Maximum request that is served from small segments, and minimum size of other segments."""


def emptied(history: History) -> NDArray[np.int64]:
    """Return the entries with which the program began to empty the cache.

    Frames identify these entries. Without frames, the program is assumed to have returned a run of
    segments unless the allocator may have returned them to make space for the following request.
    """
    empties = history.column("empties")
    begins, ends = history.returned.T
    by_program = empties[begins] == 1
    if not (empties[history.direction < 0] != entries.UNKNOWN).any():
        others = np.append(np.flatnonzero(history.direction <= 0), len(empties))
        by_program = ~_made_room(history, begins, ends, others[np.searchsorted(others, ends)])
    found: NDArray[np.int64] = begins[by_program]
    return found


def _made_room(
    history: History,
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    requests: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return whether each run of returned segments may have made space for its request.

    This is possible in two cases. In the first case, the request failed. In the second case, the
    request took more new memory than the device is known to have had free, and the returned
    segments could not have served it.
    """
    failed = np.append(history.column("action"), entries.NO_EVENT)[requests] == entries.OOM
    taken = np.append(0, np.cumsum(np.maximum(history.changes, 0)))
    room = history.reserved_peak - history.reserved_before[begins]
    lacking = taken[requests] - taken[ends] - room
    made: NDArray[np.bool_] = failed | (lacking > 0)
    for run in np.flatnonzero(made & ~failed):
        begin, end, request = int(begins[run]), int(ends[run]), int(requests[run])
        made[run] = lacking[run] > _mapped_again(history, begin, end, request) and not _serves(
            history, begin, end, request
        )
    return made


def _serves(history: History, begin: int, end: int, request: int) -> bool:
    """Return whether the segments returned from `begin` to `end` could have served the request."""
    size, stream = history.column("size"), history.column("stream")
    if request == len(size) or history.column("action")[request] != entries.ALLOC:
        return False
    given, asked = size[begin:end], size[request]
    alike = (stream[begin:end] == stream[request]) & ((given < _MIN_LARGE) == (asked <= _SMALL))
    kept = (asked < history.max_split) & (given >= history.max_split)
    return bool((alike & (given >= asked) & ~kept).any())


def _mapped_again(history: History, begin: int, end: int, request: int) -> int:
    """Return the bytes mapped from `end` to `request` in pages that had just been unmapped."""
    address, size = history.column("address"), history.column("size")
    given = begin + np.flatnonzero(history.column("action")[begin:end] == entries.UNMAP)
    low, high = np.sort(address[given]), np.sort(address[given] + size[given])
    taken = address[end:request]
    upto = taken + size[end:request]
    within = _beyond(low, upto) - _beyond(low, taken) - _beyond(high, upto) + _beyond(high, taken)
    return int(within.sum())


def _beyond(edges: NDArray[np.int64], addresses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each address's total distance to the sorted `edges` below it."""
    below = np.searchsorted(edges, addresses)
    beyond: NDArray[np.int64] = below * addresses - np.append(0, np.cumsum(edges))[below]
    return beyond
