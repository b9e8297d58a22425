"""The figures that `malloc_info` and `mallinfo2` would report for a heap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simalloc.process.glibc.arena import Walk
from simalloc.process.glibc.chunks import BINNED, FAST
from simalloc.process.glibc.mapped import MappedBlocks
from simalloc.process.glibc.reading import Heap


@dataclass(frozen=True)
class ArenaInfo:
    """The element `heap` in the output of `malloc_info`."""

    fast_count: int
    fast_size: int
    rest_count: int
    rest_size: int
    """Free bytes as in `malloc_info`, which adds one byte per free chunk because it does not remove
    a flag.
    """
    system_current: int
    system_max: int
    aspace_total: int
    aspace_mprotect: int
    subheaps: int


def arena_info(walk: Walk, *, main: bool) -> ArenaInfo:
    """Return the figures of `malloc_info` for an arena."""
    fast, free = walk.kind == FAST, walk.kind == BINNED
    count = int(np.count_nonzero(free))
    state = walk.state
    total = sum(piece.end - piece.start for piece in walk.pieces)
    writable = sum(piece.writable_end - piece.start for piece in walk.pieces)
    return ArenaInfo(
        fast_count=int(np.count_nonzero(fast)),
        fast_size=int(walk.size[fast].sum()),
        rest_count=count + 1,
        rest_size=int(walk.size[free].sum()) + count + walk.top_size,
        system_current=state.system_mem,
        system_max=state.max_system_mem,
        aspace_total=state.system_mem if main else total,
        aspace_mprotect=state.system_mem if main else writable,
        subheaps=1 if main else len(walk.pieces),
    )


def mallinfo(heap: Heap, mapped: MappedBlocks) -> dict[str, int] | None:
    """Return the figures of `mallinfo2`, or None if an arena could not be walked."""
    walks: Sequence[Walk] = [arena.walk for arena in heap.arenas if arena.walk is not None]
    if len(walks) < len(heap.arenas):
        return None
    infos = [arena_info(walk, main=number == 0) for number, walk in enumerate(walks)]
    arena = sum(walk.state.system_mem for walk in walks)
    free = sum(info.fast_size + info.rest_size - info.rest_count + 1 for info in infos)
    return {
        "arena": arena,
        "ordblks": sum(info.rest_count for info in infos),
        "smblks": sum(info.fast_count for info in infos),
        "hblks": mapped.counted,
        "hblkhd": mapped.counted_bytes,
        "fsmblks": sum(info.fast_size for info in infos),
        "uordblks": arena - free,
        "fordblks": free,
        "keepcost": walks[0].top_size,
    }
