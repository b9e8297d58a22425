"""CPython's allocator of small objects, 3.7 to 3.13, found by its table of arenas.

The table is a block of the C heap with 48 bytes per arena, for 16 arenas times a power of two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process.foreign.foreign import Foreign, ForeignClass, resident_of
from simalloc.process.glibc.capture import Capture
from simalloc.process.glibc.chunks import LIVE
from simalloc.process.target import Target

_ENTRY_WORDS: Final = 6
_FIRST_ARENAS: Final = 16
_POOL_HEADER: Final = 48
_GRAIN: Final = 16
_CLASSES: Final = 32
_KINDS: Final = ((1 << 20, 1 << 14), (256 << 10, 1 << 12))
"""Bytes of an arena and of a pool, from 3.10 on and before 3.10."""


def find_pymalloc(target: Target, found: Capture) -> Iterator[Foreign]:
    """Yield the heap of each Python in the process."""
    for address, size in _likely_tables(found):
        entries = np.frombuffer(target.bytes_at(address, size), np.uint64)
        entries = entries[: len(entries) // _ENTRY_WORDS * _ENTRY_WORDS].reshape(-1, _ENTRY_WORDS)
        for arena, pool in _KINDS:
            if _is_table(entries, arena, pool):
                yield _heap(target, entries[entries[:, 0] != 0], arena, pool)
                break


def _likely_tables(found: Capture) -> Iterator[tuple[int, int]]:
    """Yield the address and the bytes of live blocks that may be a table of arenas."""
    entry = 8 * _ENTRY_WORDS
    wanted = [entry * _FIRST_ARENAS << doubling for doubling in range(20)]
    for heap in found.heaps:
        for arena in heap.arenas:
            if arena.walk is not None:
                walk = arena.walk
                usable = walk.size - np.uint64(8)
                for size in wanted:
                    fits = (usable >= size) & (usable < size + 24) & (walk.kind == LIVE)
                    yield from ((at + 16, size) for at in walk.address[fits].tolist())
    for block in found.mapped.blocks:
        for size in wanted:
            if size + 16 <= block.size < size + 16 + 4096:
                yield block.address + 16, size


def _is_table(entries: NDArray[np.uint64], arena: int, pool: int) -> bool:
    """Return whether every entry is unused or describes an arena, and at least one is used."""
    address, next_pool = entries[:, 0], entries[:, 1]
    free, total = entries[:, 2] & np.uint64(0xFFFFFFFF), entries[:, 2] >> np.uint64(32)
    used = address != 0
    pools = arena // pool
    right = (
        (address < 1 << 47)
        & (address % np.uint64(4096) == 0)
        & (next_pool >= address)
        & (next_pool <= address + np.uint64(arena))
        & (next_pool % np.uint64(pool) == 0)
        & ((total == pools) | (total == pools - 1))
        & (free <= total)
    )
    return bool(used.any() and right[used].all())


def _heap(target: Target, entries: NDArray[np.uint64], arena: int, pool: int) -> Foreign:
    used: dict[int, int] = defaultdict(int)
    there: dict[int, int] = defaultdict(int)
    for address, end in entries[:, :2].tolist():
        first = -(-address // pool) * pool
        pools = np.arange(first, end, pool, dtype=np.uint64)
        if not len(pools):
            continue
        count = target.words(pools) & np.uint64(0xFFFFFFFF)
        number = target.words(pools + np.uint64(32)) >> np.uint64(32)
        right = (count > 0) & (number < _CLASSES)
        for one in np.unique(number[right]).tolist():
            size = (one + 1) * _GRAIN
            mine = right & (number == one)
            used[size] += int(count[mine].sum())
            there[size] += int(np.count_nonzero(mine)) * ((pool - _POOL_HEADER) // size)
    classes = [ForeignClass(size, used[size], there[size] - used[size]) for size in used]
    classes.sort(key=lambda row: -row.size * row.free)
    taken = sum(row.size * row.used for row in classes)
    length = np.full(len(entries), arena, np.uint64)
    return Foreign(
        "pymalloc (Python objects)", arena * len(entries),
        resident_of(target, entries[:, 0], length), taken, sum(used.values()),
        arena * len(entries) - taken, "Python objects of up to 512 bytes", classes,
    )  # fmt: skip
