"""Reader of a snapshot's pickle. It reads only data, executes no code, and needs little memory.

A snapshot consists mainly of the entries of its history. The reader, written in C, converts each
entry to a row of numbers immediately (`c/pickle_machine.h`). Its memory is limited in proportion to
the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.trace._c import read_pickle

ACTIONS: Final = (
    *("alloc", "free", "free_completed", "free_requested", "oom"),
    *("segment_alloc", "segment_free", "segment_map", "segment_unmap"),
)
"""The actions of entries. A row contains the index of its action."""
ALLOC, FREE, COMPLETED, REQUESTED, OOM, SEGMENT, SEGMENT_BACK, MAP, UNMAP = range(len(ACTIONS))
NO_EVENT: Final = len(ACTIONS)
WRONG: Final = NO_EVENT + 1

FIELDS: Final = ("action", "address", "size", "stream", "pool", "time", "site", "empties")
"""The numbers of a row. In an out-of-memory, `address` is the free memory. `empties` is 1 if
empty_cache was called, 2 if this is unknown, and otherwise 0."""
UNKNOWN: Final = 2

MAX_NUMBER: Final = 2**52
"""Upper bound of all numbers. It exceeds every address, and the number of microseconds in a
century.
"""
_EMPTY_CACHE: Final = ("empty_cache", "emptyCache")
_FIXED_BYTES: Final = 256 << 20
_FACTOR: Final = 6
_MAX_BYTES: Final = 4 << 30
"""Limits on the memory for reading a pickle: fixed bytes plus a multiple of its size, and a maximum
in bytes.
"""


class Pools:
    """Numbers the ids of pools. Number 0 is the common pool of requests without a pool."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {(0, 0): 0}

    def number(self, given: object) -> int:
        """Return the number of a pool's id."""
        if not isinstance(given, (tuple, list)) or not all(type(part) is int for part in given):
            return 0
        return self._numbers.setdefault(tuple(given), len(self._numbers))


class Loaded(NamedTuple):
    """The contents of a pickle."""

    whole: Any
    """The object of the pickle. A list contains a range of row numbers for each run of entries."""
    rows: NDArray[np.int64]
    """The entries of all devices, shape (entries, 8); see `FIELDS`."""
    pools: Pools


def load(content: bytes, number_site: Callable[[list[Any]], int]) -> Loaded:
    """Read a pickle. `number_site` returns a number for the frames of an entry.

    Raises `ValueError` if the pickle is damaged, contains anything besides data, or needs too much
    memory.
    """
    max_bytes = min(_FIXED_BYTES + _FACTOR * len(content), _MAX_BYTES)
    whole, table, sequences = read_pickle(content, max_bytes)
    del content  # frees its memory unless the caller still has a reference
    rows = np.empty((len(table) // (8 * (len(FIELDS) - 1)), len(FIELDS)), np.int64)
    rows[:, :-1] = np.frombuffer(table, np.int64).reshape(len(rows), len(FIELDS) - 1)
    del table
    pool, site = rows[:, FIELDS.index("pool")], rows[:, FIELDS.index("site")]
    pools = Pools()
    numbers = np.zeros(len(sequences) + 1, np.int64)
    for sequence in np.flatnonzero(np.bincount(pool, minlength=len(numbers))[1:]).tolist():
        numbers[sequence + 1] = pools.number(sequences[sequence])
    rows[:, FIELDS.index("pool")] = numbers[pool]
    sites = np.array([(0, UNKNOWN), *((0, 0) for _ in sequences)], np.int64)
    for sequence in np.flatnonzero(np.bincount(site, minlength=len(numbers))[1:]).tolist():
        frames = sequences[sequence]
        sites[sequence + 1] = number_site(frames), _empties(frames)
    rows[:, -2:] = sites[site]
    return Loaded(whole, rows, pools)


def _empties(frames: list[Any]) -> bool:
    """Return whether frames contain empty_cache."""
    names = (frame.get("name") for frame in frames if isinstance(frame, dict))
    return any(isinstance(name, str) and name.endswith(_EMPTY_CACHE) for name in names)
