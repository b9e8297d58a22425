"""Reads the pickle of a snapshot: data alone, so that nothing in it can run, and in little memory.

Most of a snapshot are the entries of its history. The reader, in C, turns each into a row of
numbers as soon as it is read (`c/pickle_machine.h`), and takes no more memory than is in
proportion to the file.
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
"""The actions of entries; a row has the index."""
ALLOC, FREE, COMPLETED, REQUESTED, OOM, SEGMENT, SEGMENT_BACK, MAP, UNMAP = range(len(ACTIONS))
NO_EVENT: Final = len(ACTIONS)
WRONG: Final = NO_EVENT + 1

FIELDS: Final = ("action", "address", "size", "stream", "pool", "time", "site", "empties")
"""The numbers of a row; in an out-of-memory `address` is the free memory. `empties`: 1 if
empty_cache was called, 2 if that cannot be known."""
UNKNOWN: Final = 2

MAX_NUMBER: Final = 2**52
"""Numbers are below it: more than any address, and microseconds of a century."""
_EMPTY_CACHE: Final = ("empty_cache", "emptyCache")
_FIXED_BYTES: Final = 256 << 20
_FACTOR: Final = 6
_MAX_BYTES: Final = 4 << 30
"""Bytes that reading a pickle may take: a fixed part, times its own size, and the maximum."""


class Pools:
    """Numbers the ids of pools; 0 is the pool of all that has none of its own."""

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
    """Its object. A list has a range of row numbers for each run of entries."""
    rows: NDArray[np.int64]
    """The entries, whichever device they are of: (entries, 8), see `FIELDS`."""
    pools: Pools


def load(content: bytes, number_site: Callable[[list[Any]], int]) -> Loaded:
    """Read a pickle; `number_site` makes a number of the frames of an entry.

    Raises `ValueError` for one that is damaged, holds anything but data, or takes too much memory.
    """
    max_bytes = min(_FIXED_BYTES + _FACTOR * len(content), _MAX_BYTES)
    whole, table, sequences = read_pickle(content, max_bytes)
    del content  # and its memory, where nobody else has it
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
    """Return whether frames are of empty_cache."""
    names = (frame.get("name") for frame in frames if isinstance(frame, dict))
    return any(isinstance(name, str) and name.endswith(_EMPTY_CACHE) for name in names)
