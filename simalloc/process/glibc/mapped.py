"""Blocks that malloc mapped separately."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process.glibc.layouts import FLAGS, HEADER, MAPPED, Parameters
from simalloc.process.glibc.state import Libc
from simalloc.process.mappings import PAGE, Mapping
from simalloc.process.region import ABSENT, up
from simalloc.process.target import Target

_LARGEST_BATCH: Final = 1 << 16
_READINGS: Final = 5
_MAX_DROPS: Final = 3
_MAX_TRIES: Final = 200_000
_SMALLEST_ALIGNMENT: Final = 32
_MAX_BEYOND: Final = PAGE - HEADER


@dataclass(frozen=True)
class MappedBlock:
    """A separately mapped block."""

    start: int
    """Start of its pages."""
    pages_size: int
    address: int
    """Address of the chunk. It is greater than `start` if the block has a larger alignment."""
    size: int
    """Size of the chunk in bytes."""
    resident: int


@dataclass(frozen=True)
class MappedBlocks:
    """All separately mapped blocks, and malloc's counts of them."""

    blocks: Sequence[MappedBlock]
    counted: int
    counted_bytes: int

    @property
    def bytes(self) -> int:
        """Bytes of the blocks' pages."""
        return sum(block.pages_size for block in self.blocks)

    @property
    def agrees(self) -> bool:
        """True if the found blocks agree with malloc's counts."""
        beyond = self.counted_bytes - self.bytes
        # From 2.43 on, each mremap adds 16 bytes that do not exist.
        likely = 0 <= beyond <= _MAX_BEYOND and beyond % HEADER == 0
        return len(self.blocks) == self.counted and likely


def read_mapped(
    target: Target,
    mallocs: Sequence[tuple[Libc, Parameters]],
    taken: Sequence[tuple[int, int]],
    readings: int = _READINGS,
) -> MappedBlocks:
    """Read all separately mapped blocks; read them again while their number changes.

    `taken` are the ranges of the arenas, which contain no such block. At most `readings` readings
    are made.
    """
    less = mallocs[0][1].chunk_less if mallocs else 0
    result = MappedBlocks([], 0, 0)
    for _ in range(readings if mallocs else 0):
        before = _counted(target, mallocs)
        found = find_mapped(target, target.busy_runs(), taken, less)
        after = _counted(target, mallocs)
        result = chosen(found, *after)
        if len(found) > after[0] and not result.agrees:
            result = chosen(found, *after, _pointed(target, found))
        if before == after and result.agrees:
            break
    return result


def _pointed(target: Target, found: Sequence[MappedBlock]) -> list[bool]:
    """Return for each block whether an aligned word of the process points to it."""
    wanted = np.array(sorted({block.address + 16 for block in found}), np.uint64)
    seen: set[int] = set()
    for run in target.mappings():
        if not (run.readable and run.writable):
            continue
        region = target.region(run.start, run.end)
        words = region.words
        words = words[(words >= wanted[0]) & (words <= wanted[-1])]
        seen.update(words[np.isin(words, wanted)].tolist())
    return [block.address + 16 in seen for block in found]


def _counted(target: Target, mallocs: Sequence[tuple[Libc, Parameters]]) -> tuple[int, int]:
    """Return the number and bytes of separately mapped blocks, as all mallocs count them."""
    number = size = 0
    for libc, before in mallocs:
        parameters = libc.parameters(target) or before
        number += parameters.mapped
        size += parameters.mapped_bytes
    return number, size


def find_mapped(
    target: Target,
    runs: Sequence[Mapping],
    taken: Sequence[tuple[int, int]],
    chunk_less: int,
) -> list[MappedBlock]:
    """Return possible separately mapped blocks, in mappings outside the ranges `taken`.

    `chunk_less` is the number of bytes by which a chunk is smaller than its pages.
    """
    found = []
    for start, end in _outside(runs, taken):
        pages = target.pages(start, end) != ABSENT
        for address, size in _headers(target, start, end, pages, chunk_less):
            chunk, rest = _aligned(target, start, pages, address, size, chunk_less)
            first = (address - start) // PAGE
            resident = PAGE * int(np.count_nonzero(pages[first : first + size // PAGE]))
            found.append(MappedBlock(address, size, chunk, rest, resident))
    return found


def _outside(
    runs: Sequence[Mapping], taken: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the parts of mappings that no range contains."""
    ordered = sorted(taken)
    for run in runs:
        at = run.start
        for start, end in ordered:
            if end <= at or start >= run.end:
                continue
            if at < start:
                yield at, start
            at = max(at, up(end))
        if at < run.end:
            yield at, run.end


def _headers(
    target: Target, start: int, end: int, present: NDArray[np.bool_], chunk_less: int
) -> Iterator[tuple[int, int]]:
    """Yield the addresses of valid headers and the bytes of their pages, without overlaps."""
    places = start + PAGE * np.flatnonzero(present)
    at, batch = 0, 1
    while at < len(places):
        here = places[at : at + batch].astype(np.uint64)
        sizes = _sizes(target, here, end, chunk_less)
        right = np.flatnonzero(sizes)
        if not len(right):
            at += batch
            batch = min(2 * batch, _LARGEST_BATCH)
            continue
        address, size = int(here[right[0]]), int(sizes[right[0]])
        yield address, size
        at = int(np.searchsorted(places, address + size))
        batch = 1


def _sizes(
    target: Target, address: NDArray[np.uint64], end: int, chunk_less: int
) -> NDArray[np.uint64]:
    """Return the bytes of the pages of the block at each address, or 0 without a block."""
    before, word = target.words(address), target.words(address + np.uint64(8))
    size = (word & np.uint64(~FLAGS & 0xFFFFFFFFFFFFFFFF)) + np.uint64(chunk_less)
    huge = 1 if chunk_less else 0
    right = (
        (before <= huge)
        & (word & np.uint64(FLAGS) == MAPPED)
        & (size % np.uint64(PAGE) == 0)
        & (size != 0)
        & (size <= np.uint64(end) - address)
    )
    return np.where(right, size, np.uint64(0))


def _aligned(
    target: Target, start: int, present: NDArray[np.bool_], address: int, size: int, chunk_less: int
) -> tuple[int, int]:
    """Return the address and size of a block's chunk, which an alignment may have moved."""
    places = []
    alignment = _SMALLEST_ALIGNMENT
    while alignment < size:
        places += [up(address + least, alignment) - HEADER for least in (HEADER, 3 * HEADER)]
        alignment *= 2
    places = sorted({
        place
        for place in places
        if address < place < address + size - HEADER and present[(place - start) // PAGE]
    })  # fmt: skip
    if places:
        at = np.array(places, np.uint64)
        distance, word = target.words(at), target.words(at + np.uint64(8))
        moved = at - np.uint64(address)
        expected = np.uint64(size - chunk_less) - moved + np.uint64(MAPPED)
        right = np.flatnonzero((distance == moved) & (word == expected))
        if len(right):
            place = places[int(right[-1])]
            return place, size - chunk_less - (place - address)
    return address, size - chunk_less


def chosen(
    found: Sequence[MappedBlock],
    counted: int,
    counted_bytes: int,
    pointed: Sequence[bool] | None = None,
) -> MappedBlocks:
    """Return the blocks that malloc counts. If too many were found, drop blocks to fit the counts.

    If several choices fit the number and the bytes, only blocks to which no word of the process
    points (`pointed`) are dropped. If no single choice remains, all found blocks are returned, and
    they do not agree with the counts.
    """
    whole = MappedBlocks(found, counted, counted_bytes)
    extra = len(found) - counted
    if extra <= 0 or extra > _MAX_DROPS:
        return whole
    fitting = []
    for tries, drop in enumerate(combinations(range(len(found)), extra)):
        if tries == _MAX_TRIES:
            return whole
        if whole.bytes - sum(found[at].pages_size for at in drop) == counted_bytes:
            fitting.append(drop)
    if len(fitting) > 1 and pointed is not None:
        fitting = [drop for drop in fitting if not any(pointed[at] for at in drop)]
    if len(fitting) != 1:
        return whole
    left = [block for at, block in enumerate(found) if at not in fitting[0]]
    return MappedBlocks(left, counted, counted_bytes)
