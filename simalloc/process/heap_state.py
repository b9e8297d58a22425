"""The state of glibc's heap, including the order of its lists, from which a model continues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

FAST_LIST, UNSORTED_LIST, BIN, CACHE = range(4)
"""The kinds of lists of chunks."""

COLUMNS: Final = ("segments", "mapped", "lists", "arenas", "idle", "threads", "resident")
"""The array fields of a `HeapState`."""


@dataclass(frozen=True, eq=False)
class HeapState:
    """The data of glibc's malloc besides its blocks, with addresses but without contents of blocks.

    Each array has one row per item. Arenas are numbered in order of creation, and the main arena
    has number 0. Threads are numbered from 0 in the order of their system numbers.
    """

    has_fast_lists: bool
    """True if arenas have fast lists, as in glibc up to 2.42."""
    parameters: Mapping[str, int]
    """`trim_threshold`, `top_pad`, `mmap_threshold`, `mmap_max`, `tcache_count`, `arena_max`, and
    `adjusts`, which is true if freeing a mapped block changes the thresholds."""
    segments: NDArray[np.int64]
    """The break, then the heaps of the other arenas. Columns: arena, start, end, and the highest
    end that was ever writable."""
    mapped: NDArray[np.int64]
    """Separately mapped blocks: start and end of the pages, and address of the chunk."""
    lists: NDArray[np.int64]
    """The chunks in lists: kind of list, arena (or thread, for a cache), and address. The chunks of
    a list are in the order in which inserting them one by one creates the list."""
    arenas: NDArray[np.int64]
    """For each arena: number of attached threads, and address of the last remainder."""
    idle: NDArray[np.int64]
    """Arenas without threads. The last of them is assigned to the next thread."""
    threads: NDArray[np.int64]
    """For each thread: arena or -1, 1 if it has a cache or 0, and the chunk of the cache's table or
    0.
    """
    resident: NDArray[np.int64]
    """Runs of resident pages in segments and mapped blocks: start and end."""

    def __post_init__(self) -> None:
        """Check the shapes. Raises `ValueError`."""
        widths = {"segments": 4, "mapped": 3, "lists": 3, "arenas": 2, "threads": 3, "resident": 2}
        for name, width in widths.items():
            if getattr(self, name).shape[1:] != (width,):
                raise ValueError(f"{name} does not have the expected number of rows")
