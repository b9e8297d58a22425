"""jemalloc 5.3, found by the radix tree that maps each page to its extent.

The tree's root is an array of 2**18 pointers in the program's data. Each pointer leads to a leaf of
2**18 words, one per page. An extent is a structure of 128 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process.foreign.foreign import Foreign, ForeignClass, pointers_to, resident_of
from simalloc.process.mappings import Mapping
from simalloc.process.region import Region
from simalloc.process.target import Target

_LEAF_WORDS: Final = 1 << 18
_LEAF_BYTES: Final = _LEAF_WORDS << 12
_EXTENT: Final = np.uint64(0x0000FFFFFFFFFF80)
_EXTENT_WORDS: Final = 16
_ACTIVE: Final = 0
_PAGE: Final = 4096
_SAMPLE: Final = 64
_MIN_RIGHT: Final = 0.5
_MAX_LEAVES: Final = 1 << 12


def class_sizes() -> list[int]:
    """Return jemalloc's size classes on x86-64: 8, 16, 32, then four per power of two."""
    sizes = [8, 16, 32, 48, 64, 80, 96, 112, 128]
    group = 128
    while len(sizes) < 232:
        sizes += [group + group // 4 * step for step in range(1, 5)]
        group *= 2
    return sizes[:232]


def find_jemalloc(
    target: Target, data: Sequence[tuple[str, Region]], runs: Sequence[Mapping]
) -> Iterator[Foreign]:
    """Yield each jemalloc in the process. A Rust program may contain a second one."""
    for file, region in data:
        for leaves in _roots(target, region, runs):
            found = _heap(target, file, leaves)
            if found is not None:
                yield found


def _roots(
    target: Target, region: Region, runs: Sequence[Mapping]
) -> Iterator[list[tuple[int, int]]]:
    """Yield the possible entries of a root: indices (in GiB of addresses) and leaves."""
    if len(region.words) < _LEAF_WORDS:
        return
    words = region.words
    place = pointers_to(region, runs, _LEAF_WORDS * 8)
    if not len(place):
        return
    place = place[_in_sparse_window(words, place)]
    seen: set[int] = set()
    for at in place.tolist():
        leaf = int(words[at])
        index = _index_of(target, leaf)
        root = at - index if index is not None else -1
        if index is None or root in seen or root < 0 or root + _LEAF_WORDS > len(words):
            continue
        seen.add(root)
        entries = np.flatnonzero(words[root : root + _LEAF_WORDS])
        if len(entries) <= _MAX_LEAVES:
            yield [(one, int(words[root + one])) for one in entries.tolist()]


def _in_sparse_window(words: NDArray[np.uint64], place: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the places that may be in a root, most of whose words are zero.

    An interpreter has thousands of pointers to long mappings in data that are not sparse. Checking
    each of them would copy 2 MiB.
    """
    used = np.concatenate(([0], np.cumsum(words != 0)))
    sparse = used[_LEAF_WORDS:] - used[:-_LEAF_WORDS] <= _MAX_LEAVES
    windows = np.concatenate(([0], np.cumsum(sparse)))
    last = np.minimum(place + 1, len(sparse))
    found: NDArray[np.bool_] = windows[last] > windows[np.maximum(place + 1 - _LEAF_WORDS, 0)]
    return found


def _index_of(target: Target, leaf: int) -> int | None:
    """Return the root index of a possible leaf if its extents contain their addresses, or None."""
    words = _resident_words(target, leaf, _LEAF_WORDS * 8)
    used = np.flatnonzero(words & _EXTENT) if words is not None else np.empty(0, np.int64)
    if words is None or not len(used):
        return None
    sample = used[:: max(1, len(used) // _SAMPLE)][:_SAMPLE]
    extents = words[sample] & _EXTENT
    address = target.words(extents + np.uint64(8))
    size = target.words(extents + np.uint64(16)) & ~np.uint64(0xFFF)
    gib = address // np.uint64(_LEAF_BYTES)
    own = gib * np.uint64(_LEAF_BYTES) + sample.astype(np.uint64) * np.uint64(_PAGE)
    right = (address <= own) & (own < address + size) & (address % np.uint64(_PAGE) == 0)
    if np.count_nonzero(right) < _MIN_RIGHT * len(sample):
        return None  # a few words of former extents may remain
    found = np.unique(gib[right])
    return int(found[0]) if len(found) == 1 else None


def _resident_words(target: Target, start: int, size: int) -> NDArray[np.uint64] | None:
    """Return words of memory. Absent pages read as zero."""
    if start <= 0 or start + size >= 1 << 47:
        return None
    first = start // _PAGE * _PAGE
    region = target.region(first, start + size)
    return region.data[start - first : start - first + size].view(np.uint64)


def _heap(target: Target, file: str, leaves: list[tuple[int, int]]) -> Foreign | None:
    """Return the heap of a root's leaves, or None if they contain no active extent."""
    extents = _extents(target, leaves)
    if not len(extents):
        return None
    rows = _rows(target, extents)
    bits, address = rows[:, 0], rows[:, 1]
    size = rows[:, 2] & ~np.uint64(0xFFF)
    state = (bits >> np.uint64(17)) & np.uint64(7)
    slab = (bits >> np.uint64(12)) & np.uint64(1) != 0
    number = ((bits >> np.uint64(20)) & np.uint64(0xFF)).astype(np.int64)
    free = ((bits >> np.uint64(28)) & np.uint64(0x3FF)).astype(np.int64)
    sizes = np.array([*class_sizes(), 0, 0], np.int64)
    active = (state == _ACTIVE) & (size > 0)
    if not active.any() or (number[active] > 232).any():
        return None
    classes, used_bytes, blocks = [], 0, 0
    for one in np.unique(number[active]).tolist():
        mine = active & (number == one)
        each = int(sizes[min(one, 233)])
        if not each:
            continue
        in_slabs = mine & slab
        regions = int((size[in_slabs].astype(np.int64) // each).sum())
        used = int(np.count_nonzero(mine & ~slab)) + regions - int(free[in_slabs].sum())
        classes.append(ForeignClass(each, used, int(free[in_slabs].sum())))
        used_bytes += used * each
        blocks += used
    active_bytes = int(size[active].sum())
    kept = state != 3  # retained address space is not backed by memory
    resident = resident_of(target, address[kept & (size > 0)], size[kept & (size > 0)])
    classes.sort(key=lambda row: -row.size * row.free)
    return Foreign(
        f"jemalloc in {file.rpartition('/')[2]}", int(size[kept].sum()), resident, used_bytes,
        blocks, active_bytes - used_bytes, "blocks in thread caches count as in use", classes,
    )  # fmt: skip


def _extents(target: Target, leaves: list[tuple[int, int]]) -> NDArray[np.uint64]:
    """Return the addresses of all extents."""
    found = [np.empty(0, np.uint64)]
    for _, leaf in leaves:
        words = _resident_words(target, leaf, _LEAF_WORDS * 8)
        if words is not None:
            found.append(np.unique(words & _EXTENT))
    extents = np.unique(np.concatenate(found))
    used: NDArray[np.uint64] = extents[extents != 0]
    return used


def _rows(target: Target, extents: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the first words of each extent."""
    into = np.zeros((len(extents), 4), np.uint64)
    length = np.full(len(extents), 32, np.uint64)
    place = np.arange(len(extents), dtype=np.uint64) * np.uint64(32)
    target.copy(extents, length, place, into.reshape(-1).view(np.uint8))
    return into
