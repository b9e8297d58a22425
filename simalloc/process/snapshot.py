"""A snapshot of a real heap: blocks in states, sums per arena, and what keeps free memory."""

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
"""The arena of a block that was mapped on its own."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a heap, one entry per block: by arena, then the blocks mapped separately."""

    address: NDArray[np.uint64]
    """The address that the program has, or would get."""
    usable: NDArray[np.int64]
    """The bytes that the program may use."""
    size: NDArray[np.int64]
    """The bytes of the chunk, header included."""
    state: NDArray[np.uint8]
    """An index into `STATE_NAMES`."""
    arena: NDArray[np.int32]
    """The number of the arena, or `NO_ARENA`."""
    resident: NDArray[np.int64]
    """The bytes of the chunk in resident pages; all of them in a core file, which cannot tell."""

    def __len__(self) -> int:
        return len(self.address)


@dataclass(frozen=True)
class Part:
    """The bytes of an arena, or of all blocks that were mapped on their own.

    `live`, `headers`, `tables`, `tcache`, `fastbin`, `bins`, `top` and `holes` add up to `bytes`.
    The figures of resident pages are None in a core file, which does not say which were.
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
    """Bytes of the allocator's own data: thread caches' tables, its own words, fences."""
    tcache: int = 0
    fastbin: int = 0
    bins: int = 0
    """Free between other blocks."""
    top: int = 0
    """Free at the top."""
    holes: int = 0
    """Counted by the arena, although another caller of `sbrk` has them."""
    threads: int | None = None
    """Number of threads that use the arena."""
    max_bytes: int = 0
    """The most bytes that the arena ever had."""
    resident: int | None = None
    live_resident: int | None = None
    """Resident bytes of live blocks, with their headers."""
    cached_resident: int | None = None
    """Resident bytes in thread caches."""
    free_resident: int | None = None
    """Resident bytes that are free: in fast bins, in bins or at the top."""
    free_absent: int | None = None
    """Free bytes in pages that were never touched, or that were returned to the system."""
    trimmable: int | None = None
    """Resident bytes that `malloc_trim(0)` would return."""
    break_falls: int = 0
    """Bytes by which `malloc_trim(0)` would lower the break."""
    kept: int | None = None
    """Free resident bytes in bins that `malloc_trim(0)` would not return."""
    kept_blocks: int = 0
    """Live blocks in pages with such bytes."""
    released: int = 0
    """Bytes at the end of the arena's heaps that were returned to the system; not in `bytes`."""
    problem: str | None = None
    """Reason why the arena could not be walked; then only `bytes` is known."""


@dataclass(frozen=True)
class Keeper:
    """Live blocks of one size that keep free memory resident."""

    usable: int
    blocks: int
    kept: int
    """Free bytes in their pages; blocks in one page share these by their bytes in it."""


@dataclass(frozen=True)
class Content:
    """Live blocks of one size that begin alike."""

    usable: int
    blocks: int
    bytes: int
    first_word: str
    """The name of a vtable or of other data that it points to, or its kind."""


@dataclass(frozen=True)
class Other:
    """Memory of the process outside of glibc's heaps."""

    name: str
    bytes: int
    resident: int | None


@dataclass(frozen=True)
class Pauses:
    """Times for which the process was stopped."""

    stops: int = 0
    longest: float = 0.0
    """In seconds."""
    total: float = 0.0
    rounds: int = 0
    """Number of times that threads with a lock were released for a moment."""
    arena_bytes: int = 0
    """The bytes of the arenas that were read under a stop."""
    waiting: float = 0.0
    """Seconds of the total until all threads had stopped outside of malloc."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The heaps of a process, or of a core file, at one moment."""

    name: str
    """`process 123` or the core file's path."""
    command: str
    process: int | None
    resident: int | None
    """The resident bytes of the whole process."""
    threads: int
    parts: Sequence[Part]
    """Each arena, then the blocks mapped on their own."""
    blocks: Blocks
    keepers: Sequence[Keeper]
    others: Sequence[Other] = ()
    pauses: Pauses = Pauses()
    seconds: float = 0.0
    """Duration of the reading in seconds."""
    problems: Sequence[str] = ()
    """Unreadable or contradictory parts; one sentence each."""
    content: Sequence[Content] = ()
    """Contents of live blocks, the most bytes first; never saved."""
    foreign: Sequence[Foreign] = ()
    """Heaps of other allocators."""
    mallinfo: Map[str, int] = field(default_factory=dict)
    """Figures of `mallinfo2`, by its field names."""
    state: HeapState | None = None
    """The lists, threads and parameters of glibc's malloc, from which a model can go on. None: it
    has no heap, an arena was not walked, or the main arena has memory outside of the break."""

    def total(self, figure: str) -> int:
        """Return the sum of one figure over all parts; parts without it count as 0."""
        return sum(getattr(part, figure) or 0 for part in self.parts)

    def count(self, state: str) -> int:
        """Return the number of blocks in a state, by its name."""
        return int(np.count_nonzero(self.blocks.state == STATE_NAMES.index(state)))
