"""gperftools' tcmalloc 2.10, found by the radix tree that maps each page to its span.

The tree's root is an array of 2**17 pointers in the library's data. Each pointer leads to a leaf of
2**18 words, one word per page of 8 KiB. A span is a structure of 48 bytes.
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

_ROOT_WORDS: Final = 1 << 17
_LEAF_WORDS: Final = 1 << 18
_PAGE: Final = 8192
_SPAN: Final = 48
_IN_USE, _FREE = 0, 1
_FIRST_SIZES: Final = (0, 8, 16, 32)
_MAX_CLASSES: Final = 256


def find_tcmalloc(
    target: Target, data: Sequence[tuple[str, Region]], runs: Sequence[Mapping]
) -> Iterator[Foreign]:
    """Yield each tcmalloc in the process."""
    for file, region in data:
        sizes = _class_sizes(region) if len(region.words) >= _ROOT_WORDS else None
        if sizes is None:
            continue
        for leaves in _roots(target, region, runs):
            yield _heap(target, file, leaves, sizes)


def _class_sizes(region: Region) -> NDArray[np.int64] | None:
    """Return the sizes of the classes, from a table of ascending 32-bit numbers."""
    numbers = region.data.view(np.uint32)
    first = np.flatnonzero(
        (numbers[:-3] == _FIRST_SIZES[0])
        & (numbers[1:-2] == _FIRST_SIZES[1])
        & (numbers[2:-1] == _FIRST_SIZES[2])
        & (numbers[3:] == _FIRST_SIZES[3])
    )
    for at in first.tolist():
        table = numbers[at : at + _MAX_CLASSES].astype(np.int64)
        falls = np.flatnonzero(np.diff(table) <= 0)
        end = int(falls[0]) + 1 if len(falls) else len(table)
        if end > 40 and table[end - 1] >= 1 << 15:
            return np.append(table[:end], np.zeros(_MAX_CLASSES - end, np.int64))
    return None


def _roots(target: Target, region: Region, runs: Sequence[Mapping]) -> Iterator[list[int]]:
    """Yield the leaves of possible roots."""
    words = region.words
    seen: set[int] = set()
    for at in pointers_to(region, runs, _LEAF_WORDS * 8).tolist():
        index = _index_of(target, int(words[at]))
        root = at - index if index is not None else -1
        if root < 0 or root in seen or root + _ROOT_WORDS > len(words):
            continue
        seen.add(root)
        entries: list[int] = words[root : root + _ROOT_WORDS].tolist()
        yield [entry for entry in entries if entry]


def _leaf(target: Target, leaf: int) -> NDArray[np.uint64]:
    region = target.region(leaf, leaf + _LEAF_WORDS * 8)
    start = leaf - region.start
    return region.data[start : start + _LEAF_WORDS * 8].view(np.uint64)


def _index_of(target: Target, leaf: int) -> int | None:
    """Return the root index of a possible leaf if its spans contain their pages, or None."""
    words = _leaf(target, leaf)
    used = np.flatnonzero(words)
    if len(used) < 2:
        return None
    sample = used[:: max(1, len(used) // 8)][:8]
    first = target.words(words[sample])
    pages = target.words(words[sample] + np.uint64(8))
    high = first // np.uint64(_LEAF_WORDS)
    own = high * np.uint64(_LEAF_WORDS) + sample.astype(np.uint64)
    right = (first <= own) & (own < first + pages)
    return int(high[0]) if right.all() and (high == high[0]).all() else None


def _heap(target: Target, file: str, leaves: Sequence[int], sizes: NDArray[np.int64]) -> Foreign:
    spans = np.unique(np.concatenate([_leaf(target, leaf) for leaf in leaves]))
    spans = spans[spans != 0]
    rows = np.zeros((len(spans), _SPAN // 8), np.uint64)
    length = np.full(len(spans), _SPAN, np.uint64)
    place = np.arange(len(spans), dtype=np.uint64) * np.uint64(_SPAN)
    target.copy(spans, length, place, rows.reshape(-1).view(np.uint8))
    size = rows[:, 1] * np.uint64(_PAGE)
    word = rows[:, 5]
    out = (word & np.uint64(0xFFFF)).astype(np.int64)
    number = ((word >> np.uint64(16)) & np.uint64(0xFF)).astype(np.int64)
    state = (word >> np.uint64(24)) & np.uint64(3)
    used = state == _IN_USE
    large = used & (number == 0)
    classes = []
    for one in np.unique(number[used & (number > 0)]).tolist():
        mine, each = used & (number == one), int(sizes[one])
        there = int((size[mine].astype(np.int64) // max(each, 1)).sum())
        classes.append(ForeignClass(each, int(out[mine].sum()), there - int(out[mine].sum())))
    used_bytes = sum(row.size * row.used for row in classes) + int(size[large].sum())
    kept = state <= _FREE
    resident = resident_of(target, rows[kept, 0] * np.uint64(_PAGE), size[kept])
    classes.sort(key=lambda row: -row.size * row.free)
    return Foreign(
        f"tcmalloc in {file.rpartition('/')[2]}", int(size[kept].sum()), resident, used_bytes,
        sum(row.used for row in classes) + int(np.count_nonzero(large)),
        int(size[kept].sum()) - used_bytes,
        "blocks in thread caches and transfer caches count as in use", classes,
    )  # fmt: skip
