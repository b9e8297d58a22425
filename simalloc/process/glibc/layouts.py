"""Memory layouts of glibc's malloc on x86-64, in versions 2.31 to 2.44.

The offsets come from the debugging information in Debian's and Ubuntu's packages of 2.31, 2.35,
2.36, 2.39, 2.41, 2.43 and 2.44.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

HEADER: Final = 16
"""Bytes from a chunk's address to the program's pointer."""
SMALLEST: Final = 32
"""Bytes of the smallest chunk."""
FENCE: Final = 16
"""Size of the chunks that end a piece of an arena."""
FLAGS: Final = 7
PREVIOUS_IN_USE: Final = 1
MAPPED: Final = 2
OTHER_ARENA: Final = 4
BINS: Final = 127
FAST_LISTS: Final = 10
HEAP_BYTES: Final = 64 << 20
"""Alignment and maximum size of a heap in an arena other than the main arena."""
HEAP_HEADERS: Final = (32, 48)
NONCONTIGUOUS: Final = 2
"""Flag of an arena with non-adjacent pieces."""


@dataclass(frozen=True)
class StateLayout:
    """The fields of `malloc_state`."""

    fast: int | None
    """Offset of the heads of the fast lists, or None without fast lists."""
    top: int
    bins: int
    next: int
    attached: int
    system_mem: int
    size: int

    def head(self, state: int, number: int) -> int:
        """Return the address of a bin's head, as a chunk. Bins are numbered from 1."""
        return state + self.bins + 16 * (number - 1) - 16


@dataclass(frozen=True)
class TableLayout:
    """The fields of a thread's cache, `tcache_perthread_struct`."""

    lists: int
    entries: int
    size: int
    counts_free_places: bool
    """True if the count of each list is its number of free places, not of chunks."""
    chunks: tuple[int, ...]
    """Possible sizes of a table's chunk. A remainder of 16 bytes is not split off."""
    arena: int
    """Offset of the thread's arena pointer from its table pointer."""

    def chunk_sizes(self, number: int) -> tuple[int, int]:
        """Return the smallest and the largest chunk that a list can contain."""
        if number < SMALL_LISTS:
            return SMALLEST + 16 * number, SMALLEST + 16 * number
        smallest = 1024 << (number - SMALL_LISTS)
        return smallest, 2 * smallest - 16


SMALL_LISTS: Final = 64

WITH_FAST_LISTS: Final = StateLayout(16, 96, 112, 2160, 2176, 2184, 2200)
WITHOUT_FAST_LISTS: Final = StateLayout(None, 8, 24, 2072, 2088, 2096, 2112)
STATES: Final = (WITH_FAST_LISTS, WITHOUT_FAST_LISTS)

OLD_TABLE: Final = TableLayout(64, 128, 640, False, (656, 672), 0x10)  # noqa: FBT003
NEW_TABLE: Final = TableLayout(76, 152, 760, True, (768, 784, 800), 0x30)  # noqa: FBT003


def tables_of(layout: StateLayout) -> tuple[TableLayout, ...]:
    """Return the possible layouts of a cache's table, from the layout of the arenas.

    Release 2.42 combines the old arenas with the new table.
    """
    return (OLD_TABLE, NEW_TABLE) if layout is WITH_FAST_LISTS else (NEW_TABLE,)


@dataclass(frozen=True)
class Parameters:
    """The fields of `malloc_par` that are used here."""

    address: int
    trim_threshold: int
    top_pad: int
    mmap_threshold: int
    arena_max: int
    huge_page: int
    """Size of transparent huge pages for the top chunk, or 0 without huge pages."""
    heap_page: int
    """Size of huge pages for heaps, or 0 without huge pages."""
    mapped: int
    """Number of separately mapped blocks."""
    mmap_max: int
    """Maximum number of separately mapped blocks."""
    max_mapped: int
    mapped_bytes: int
    max_mapped_bytes: int
    sbrk_base: int
    cache_lists: int
    cache_bytes: int
    """Maximum request that is cached."""
    cache_count: int
    """Number of places in each list of a cache."""
    fixed_thresholds: bool
    """True if freeing a mapped block does not change the thresholds."""
    chunk_less: int
    """Bytes by which a separately mapped chunk is smaller than its pages."""


@dataclass(frozen=True)
class ParametersLayout:
    """The fields of `malloc_par`."""

    huge_page: int | None
    heap_page: int | None
    mapped: int
    """Offset of four 32-bit numbers: mapped blocks, their limit, their maximum, no_dyn_threshold.
    """
    mapped_bytes: int
    sbrk_base: int
    cache_lists: int
    chunk_less: int

    @property
    def size(self) -> int:
        """Bytes up to the last field used."""
        return self.cache_lists + 24

    def read(self, address: int, content: bytes) -> Parameters | None:
        """Return the parameters at an address, or None if these bytes cannot be parameters."""
        words = struct.unpack_from("<QQQQQ", content, 0)
        mapped, mmap_max, most, fixed = struct.unpack_from("<4i", content, self.mapped)
        mapped_bytes, max_bytes = struct.unpack_from("<QQ", content, self.mapped_bytes)
        (sbrk_base,) = struct.unpack_from("<Q", content, self.sbrk_base)
        lists, cache_bytes, count = struct.unpack_from("<QQQ", content, self.cache_lists)
        huge, heap = (
            0 if place is None else struct.unpack_from("<Q", content, place)[0]
            for place in (self.huge_page, self.heap_page)
        )
        right = (
            0 <= mapped <= most
            and mapped_bytes <= max_bytes < 1 << 47
            and (mapped == 0) == (mapped_bytes == 0)
            and 1 <= lists <= 76
            and 16 <= cache_bytes <= 8 << 20
            and count <= 0xFFFF
            and huge % 4096 == 0
            and heap % 4096 == 0
            and max(huge, heap) <= 1 << 40
            and words[3] <= 1 << 32
        )
        if not right:
            return None
        return Parameters(
            address=address,
            trim_threshold=words[0],
            top_pad=words[1],
            mmap_threshold=words[2],
            arena_max=words[4],
            huge_page=huge,
            heap_page=heap,
            mapped=mapped,
            mmap_max=mmap_max,
            max_mapped=most,
            mapped_bytes=mapped_bytes,
            max_mapped_bytes=max_bytes,
            sbrk_base=sbrk_base,
            cache_lists=lists,
            cache_bytes=cache_bytes,
            cache_count=count,
            fixed_thresholds=fixed != 0,
            chunk_less=self.chunk_less,
        )


PARAMETERS: Final = (
    ParametersLayout(None, None, 40, 56, 72, 80, 0),
    ParametersLayout(40, 48, 60, 80, 96, 104, 0),
    ParametersLayout(48, 56, 68, 88, 104, 112, 16),
)
"""Layouts of 2.31 to 2.34, of 2.35 to 2.42, and from 2.43 on."""

PARAMETERS_BEFORE_ARENA: Final = (0x900, 0x920, 0x940)
"""Observed distances from `malloc_par` to the main arena."""
