"""Bitmaps in which an arena of mimalloc 3 searches free slices."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from simalloc.heap.reference.families.mimalloc.block_sizes import lowest_bit

CHUNK = 512
"""Number of slices of a chunk, the range of a search for a run."""

_GROUP = 64
"""Number of chunks in a group; a search visits group after group."""

_ALL = (1 << CHUNK) - 1

_BYTE_STARTS = _ALL // 0xFF


class Kind(IntEnum):
    """The runs for which a chunk is reserved, in the order in which searches visit the kinds."""

    SMALL = 0
    OTHER = 1
    MEDIUM = 2
    LARGE = 3
    HUGE = 4
    NONE = 5


class SliceMap:
    """The free slices of an arena, by chunks that are each reserved for one kind of run."""

    def __init__(self, chunks: int) -> None:
        self.free = [_ALL] * chunks
        self.kind = [Kind.NONE] * chunks
        self._is_hopeful = [True] * chunks
        self._highest = 0  # highest chunk with a freed slice, or found full by a search

    def is_free(self, index: int) -> bool:
        """Return whether a slice is free. A slice outside the arena is not free."""
        chunk, bit = divmod(index, CHUNK)
        return 0 <= chunk < len(self.free) and bool(self.free[chunk] >> bit & 1)

    def put(self, index: int, count: int) -> None:
        """Make the slices from `index` on free."""
        for chunk, bits in _parts(index, count):
            self.free[chunk] |= bits
            self._is_hopeful[chunk] = True
            self._highest = max(self._highest, chunk)
            if self.free[chunk] == _ALL:
                self.kind[chunk] = Kind.NONE

    def take(self, index: int, count: int) -> None:
        """Mark the free slices from `index` on as used."""
        for chunk, bits in _parts(index, count):
            self.free[chunk] &= ~bits

    def keep_for(self, index: int, count: int) -> None:
        """Assign a run's kind to chunks that have no kind and begin in the run."""
        for chunk, bits in _parts(index, count):
            if bits & 1 and self.kind[chunk] is Kind.NONE:
                self.kind[chunk] = kind_of(count)

    def find(self, count: int, sequence: int) -> int | None:
        """Return the first of `count` free slices for the thread number `sequence`, or None."""
        if count > CHUNK:
            return self._find_chunks(count)
        kinds = [kind for kind in Kind if kind <= kind_of(count) or kind is Kind.NONE]
        for group, wrap in self._groups(sequence):
            for kind in kinds:
                for place in rotated(sequence, wrap, _GROUP):
                    index = self._find_in(group * _GROUP + place, kind, count)
                    if index is not None:
                        return index
        return None

    def _groups(self, sequence: int) -> Iterator[tuple[int, int]]:
        """Yield the groups in search order, and the position at which each group's order wraps."""
        highest, within = divmod(self._highest, _GROUP)
        for group in rotated(sequence, highest + 1, -(-len(self.free) // _GROUP)):
            yield group, within + 1 if group == highest else _GROUP

    def _find_in(self, chunk: int, kind: Kind, count: int) -> int | None:
        if chunk >= len(self.free) or self.kind[chunk] is not kind or not self._is_hopeful[chunk]:
            return None
        starts = _starts(self.free[chunk], count)
        if starts:
            return chunk * CHUNK + lowest_bit(starts).bit_length() - 1
        if not self.free[chunk]:
            self._is_hopeful[chunk] = False
            self._highest = max(self._highest, chunk)
        return None

    def _find_chunks(self, count: int) -> int | None:
        wanted = -(-count // CHUNK)
        for chunk in range(len(self.free) - wanted + 1):
            if all(bits == _ALL for bits in self.free[chunk : chunk + wanted]):
                return chunk * CHUNK
        return None


def rotated(start: int, wrap: int, end: int) -> Iterator[int]:
    """Yield the numbers below `wrap`, rotated to begin at `start % wrap`, then those to `end`."""
    first = start % wrap
    yield from range(first, wrap)
    yield from range(first)
    yield from range(wrap, end)


def kind_of(count: int) -> Kind:
    """Return the kind of a run of `count` slices."""
    if count > CHUNK:
        return Kind.HUGE
    return {1: Kind.SMALL, 8: Kind.MEDIUM, 64: Kind.LARGE}.get(count, Kind.OTHER)


def _starts(bits: int, count: int) -> int:
    """Return the bits at which a run of `count` slices may begin."""
    starts, have = bits, 1
    while have < count:
        step = min(have, count - have)
        starts &= starts >> step
        have += step
    return starts & _BYTE_STARTS if count == 8 else starts


def _parts(index: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield the chunks of a run, and the run's bits in each chunk."""
    end = index + count
    while index < end:
        chunk, first = divmod(index, CHUNK)
        stop = min(end, (chunk + 1) * CHUNK)
        yield chunk, ((1 << stop - index) - 1) << first
        index = stop
