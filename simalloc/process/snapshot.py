"""A snapshot of a real heap: its blocks and states, sums per arena, and kept free memory."""

from __future__ import annotations

from collections.abc import Mapping as Map
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process.foreign.foreign import Foreign
from simalloc.process.glibc.chunks import STATE_NAMES
from simalloc.process.heap_state import HeapState

NO_ARENA: Final = -1
"""The arena number of a separately mapped block."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a heap, one entry per block: blocks by arena, then separately mapped blocks."""

    address: NDArray[np.uint64]
    """Address that the program uses for the block, or would receive for a free block."""
    usable: NDArray[np.int64]
    """Bytes that the program may use."""
    size: NDArray[np.int64]
    """Bytes of the chunk, header included."""
    state: NDArray[np.uint8]
    """Index into `STATE_NAMES`."""
    arena: NDArray[np.int32]
    """Number of the arena, or `NO_ARENA`."""
    resident: NDArray[np.int64]
    """Bytes of the chunk in resident pages. In a core file, all bytes count as resident."""

    def __len__(self) -> int:
        return len(self.address)


@dataclass(frozen=True)
class Part:
    """The bytes of an arena, or of all separately mapped blocks.

    `live`, `headers`, `tables`, `tcache`, `fastbin`, `bins`, `top` and `holes` add up to `bytes`.
    The figures of resident pages are None in a core file, which does not record which pages were
    resident.
    """

    name: str
    """`main`, the number of the arena, or `mapped`."""
    bytes: int
    live: int
    """Usable bytes of live blocks."""
    live_blocks: int
    headers: int
    """Headers of live blocks."""
    tables: int
    """Bytes of the allocator's own data: tables of thread caches, the arena's own words, and
    fences.
    """
    tcache: int = 0
    fastbin: int = 0
    bins: int = 0
    """Free bytes between other blocks."""
    top: int = 0
    """Free bytes in the top chunk."""
    holes: int = 0
    """Bytes that the arena counts, although another caller of `sbrk` received them."""
    threads: int | None = None
    """Number of threads that use the arena."""
    max_bytes: int = 0
    """Maximum bytes that the arena ever had."""
    resident: int | None = None
    live_resident: int | None = None
    """Resident bytes of live blocks, headers included."""
    cached_resident: int | None = None
    """Resident bytes in thread caches."""
    free_resident: int | None = None
    """Resident free bytes in fast bins, in bins and in the top chunk."""
    free_absent: int | None = None
    """Free bytes in pages that were never touched or were returned to the system."""
    trimmable: int | None = None
    """Resident bytes that `malloc_trim(0)` would return."""
    break_falls: int = 0
    """Bytes by which `malloc_trim(0)` would lower the break."""
    kept: int | None = None
    """Resident free bytes in bins that `malloc_trim(0)` would not return."""
    kept_blocks: int = 0
    """Number of live blocks in the pages of the `kept` bytes."""
    released: int = 0
    """Bytes at the end of the arena's heaps that were returned to the system; not included in
    `bytes`.
    """
    problem: str | None = None
    """Reason why the arena could not be walked. In this case, only `bytes` is known."""


@dataclass(frozen=True)
class Keeper:
    """Live blocks of one size that keep free memory resident."""

    usable: int
    blocks: int
    kept: int
    """Free bytes in the pages of the blocks. The blocks of a page share its free bytes in
    proportion to their own bytes in it.
    """


@dataclass(frozen=True)
class Content:
    """Live blocks of one size with the same kind of first word."""

    usable: int
    blocks: int
    bytes: int
    first_word: str
    """Name of the vtable or other data to which the first word points, or the kind of the word."""


@dataclass(frozen=True)
class Other:
    """Memory of the process outside glibc's heaps."""

    name: str
    bytes: int
    resident: int | None


@dataclass(frozen=True)
class Pauses:
    """Periods in which the process was stopped."""

    stops: int = 0
    longest: float = 0.0
    """Longest stop in seconds."""
    total: float = 0.0
    rounds: int = 0
    """Number of times that threads with a lock were released for a moment."""
    arena_bytes: int = 0
    """Bytes of the arenas that were read under a stop."""
    waiting: float = 0.0
    """Seconds until all threads had stopped outside malloc, included in the total."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The heaps of a process, or of a core file, at one moment."""

    name: str
    """`process 123` or the core file's path."""
    command: str
    process: int | None
    resident: int | None
    """Resident bytes of the whole process."""
    threads: int
    parts: Sequence[Part]
    """Each arena, then the separately mapped blocks."""
    blocks: Blocks
    keepers: Sequence[Keeper]
    others: Sequence[Other] = ()
    pauses: Pauses = Pauses()
    seconds: float = 0.0
    """Duration of the reading in seconds."""
    problems: Sequence[str] = ()
    """Unreadable or contradictory parts, one sentence each."""
    content: Sequence[Content] = ()
    """Contents of live blocks, the most bytes first. They are never saved."""
    foreign: Sequence[Foreign] = ()
    """Heaps of other allocators."""
    mallinfo: Map[str, int] = field(default_factory=dict)
    """Figures of `mallinfo2`, by its field names."""
    state: HeapState | None = None
    """The lists, threads and parameters of glibc's malloc, from which a model can continue. None if
    the process has no such heap, an arena was not walked, or the main arena has memory outside the
    break."""

    def total(self, figure: str) -> int:
        """Return the sum of one figure over all parts. A part without the figure counts as 0."""
        return sum(getattr(part, figure) or 0 for part in self.parts)

    def count(self, state: str) -> int:
        """Return the number of blocks in a state, by its name."""
        return int(np.count_nonzero(self.blocks.state == STATE_NAMES.index(state)))
