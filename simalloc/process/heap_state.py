"""The state of glibc's heap, with the order of its lists, for a model that continues from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

FAST_LIST, UNSORTED_LIST, BIN, CACHE = range(4)
"""The kinds of lists of chunks."""

COLUMNS: Final = ("segments", "mapped", "lists", "arenas", "idle", "threads", "resident")
"""The fields of a `HeapState` that are arrays."""


@dataclass(frozen=True, eq=False)
class HeapState:
    """The data of glibc's malloc besides its blocks, by addresses; no contents of blocks.

    Each array has a row for each item. Arenas are numbered from 0, the main one, in the order in
    which they were made, and threads from 0 in the order of their system numbers.
    """

    has_fast_lists: bool
    """True if arenas have fast lists, as in glibc up to 2.42."""
    parameters: Mapping[str, int]
    """`trim_threshold`, `top_pad`, `mmap_threshold`, `mmap_max`, `tcache_count`, `arena_max`, and
    `adjusts`: whether freeing a mapped block changes the thresholds."""
    segments: NDArray[np.int64]
    """The break, then the heaps of the other arenas: arena, start, end, and the highest end that
    was ever writable."""
    mapped: NDArray[np.int64]
    """Blocks that were mapped on their own: start and end of the pages, address of the chunk."""
    lists: NDArray[np.int64]
    """The chunks in lists: kind of list, arena (of a cache: thread), address. The chunks of a list
    are in the order in which entering them one by one makes the list."""
    arenas: NDArray[np.int64]
    """Attached threads, and the address of the last remainder."""
    idle: NDArray[np.int64]
    """Arenas without threads; the last one is given to the next thread."""
    threads: NDArray[np.int64]
    """Arena or -1, 1 if the thread has a cache, else 0, and the chunk of the cache's table or 0."""
    resident: NDArray[np.int64]
    """Runs of resident pages in segments and mapped blocks: start and end."""

    def __post_init__(self) -> None:
        """Check the shapes; raises `ValueError`."""
        widths = {"segments": 4, "mapped": 3, "lists": 3, "arenas": 2, "threads": 3, "resident": 2}
        for name, width in widths.items():
            if getattr(self, name).shape[1:] != (width,):
                raise ValueError(f"{name} has rows of another length")
