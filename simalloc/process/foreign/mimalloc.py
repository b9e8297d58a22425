"""mimalloc 2.0, found by its segments, which begin at multiples of 32 MiB."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from simalloc.process.foreign.foreign import Foreign, ForeignClass, resident_of
from simalloc.process.mappings import Mapping
from simalloc.process.region import up
from simalloc.process.target import Target

_SEGMENT: Final = 32 << 20
_SLICE: Final = 64 << 10
_USED, _COOKIE, _SLICES, _INFO, _ENTRIES = 208, 216, 224, 232, 264
_ENTRY: Final = 80
_MAX_SLICES: Final = _SEGMENT // _SLICE
_HEADER: Final = _ENTRIES + _ENTRY * (_MAX_SLICES + 1)
_LARGEST_BLOCK: Final = 16 << 20


def find_mimalloc(target: Target, runs: Sequence[Mapping]) -> Iterator[Foreign]:
    """Yield mimalloc's heap: all segments whose cookies have the same key."""
    keys: dict[int, list[int]] = defaultdict(list)
    for run in runs:
        for at in range(up(run.start, _SEGMENT), run.end - _SLICE + 1, _SEGMENT):
            used, cookie, slices, info = np.frombuffer(
                target.bytes_at(at + _USED, 32), np.uint64
            ).tolist()
            if cookie and 0 < info < slices and 0 < used <= slices and slices < 1 << 32:
                keys[cookie ^ at].append(at)
    for segments in keys.values():
        heap = _heap(target, segments)
        if heap.blocks:
            yield heap


def _heap(target: Target, segments: Sequence[int]) -> Foreign:
    used: dict[int, int] = defaultdict(int)
    there: dict[int, int] = defaultdict(int)
    sizes = []
    for segment in segments:
        header = target.bytes_at(segment, _HEADER)
        slices = int.from_bytes(header[_SLICES : _SLICES + 8], "little")
        sizes.append(slices * _SLICE)
        number = int.from_bytes(header[_INFO : _INFO + 8], "little")
        while number < min(slices, _MAX_SLICES):
            entry = header[_ENTRIES + _ENTRY * number :][:_ENTRY]
            count = max(1, int.from_bytes(entry[:4], "little"))
            blocks, size = (int.from_bytes(entry[at : at + 4], "little") for at in (24, 28))
            if blocks and size > 1:
                whole = count * _SLICE
                size = size if size <= _LARGEST_BLOCK else whole
                freed = _freed(target, int.from_bytes(entry[40:48], "little") & ~3, blocks)
                used[size] += blocks - freed
                there[size] += max(blocks, whole // size)
            number += count
    ranges = np.array([segments, sizes], np.uint64)
    classes = [ForeignClass(one, used[one], there[one] - used[one]) for one in used]
    classes.sort(key=lambda row: -row.size * row.free)
    taken = sum(row.size * row.used for row in classes)
    return Foreign(
        "mimalloc",
        sum(sizes),
        resident_of(target, ranges[0], ranges[1]),
        taken,
        sum(used.values()),
        sum(row.size * row.free for row in classes),
        "blocks are counted by their size class",
        classes,
    )


def _freed(target: Target, block: int, most: int) -> int:
    """Return the number of blocks that other threads freed and the owner has not collected."""
    count = 0
    while block and count < most:
        count += 1
        block = int.from_bytes(target.bytes_at(block, 8), "little")
    return count
