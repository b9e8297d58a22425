"""Buffers with known lifetimes, and the sections of time in which they compete for addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.timetable import Timetable

Ints = NDArray[np.int64]
Numbers = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Buffers:
    """Buffers of fixed size, each live during one or more pieces of time.

    `size` and `alignment` (int64, bytes, at least 1) have an entry for each buffer. `owner`
    (int64, ascending), `begin` and `end` (int64, `begin` < `end`) have an entry for each piece: the
    buffer `owner` is live from `begin` until just before `end`. A buffer with several pieces has a
    gap between them, in which others may use its addresses.
    """

    size: Ints
    alignment: Ints
    owner: Ints
    begin: Ints
    end: Ints

    @classmethod
    def of(cls, table: Timetable) -> Buffers:
        """Return the lives of a timetable as buffers of one piece each."""
        owner = np.arange(len(table))
        return cls(table.size, table.alignment, owner, table.born, table.died)

    def __len__(self) -> int:
        return len(self.size)

    @cached_property
    def grain(self) -> int:
        """The number of bytes that divides every alignment; each address is a multiple of it."""
        return int(np.gcd.reduce(self.alignment, initial=0)) or 1

    @cached_property
    def padded(self) -> Ints:
        """The sizes, rounded up to the grain (int64, bytes)."""
        return -(-self.size // self.grain) * self.grain

    @cached_property
    def unit(self) -> int:
        """The number of bytes that divides the height of every placement that cannot be lowered.

        An address in it is a sum of sizes, rounded up to alignments. Alignments that divide every
        size round nothing up.
        """
        size = int(np.gcd.reduce(self.size, initial=0)) or 1
        return int(np.gcd.reduce(self.alignment[size % self.alignment != 0], initial=size))

    @cached_property
    def sections(self) -> Sections:
        """The sections of time, which tell everything about who meets whom."""
        return Sections.of(self)

    @cached_property
    def twins(self) -> Numbers:
        """A number for each buffer (uint32), equal for interchangeable buffers of one piece."""
        sections = self.sections
        single = np.diff(sections.pieces.astype(np.int64)) == 1
        numbers = np.where(single, 0, 1 + np.arange(len(self)))
        key = np.stack((numbers, sections.first, sections.last, self.size, self.alignment))
        _, number = np.unique(key, axis=1, return_inverse=True)
        return number.reshape(-1).astype(np.uint32)

    def of_numbers(self, numbers: Ints) -> Buffers:
        """Return some of the buffers (ascending numbers) as a problem on their own."""
        place = np.full(len(self), -1)
        place[numbers] = np.arange(len(numbers))
        kept = place[self.owner] >= 0
        return Buffers(
            self.size[numbers],
            self.alignment[numbers],
            place[self.owner[kept]],
            self.begin[kept],
            self.end[kept],
        )

    def parts(self) -> Iterator[Ints]:
        """Yield the numbers (ascending) of the buffers of each independent part of time.

        Two parts have no section in common, so that each can be placed as if there were no other.
        """
        sections = self.sections
        order = np.argsort(sections.first, kind="stable")
        reach = np.maximum.accumulate(sections.last[order].astype(np.int64))
        starts = np.flatnonzero(sections.first[order][1:] >= reach[:-1]) + 1
        for part in np.split(order, starts):
            yield np.sort(part)

    def bound(self) -> int:
        """Return the height (bytes) that some section needs at least.

        The buffers of a section, rounded up to the grain, lie one above the other; only the
        topmost one can do without its padding.
        """
        sections = self.sections
        change = np.zeros(sections.count + 1, np.int64)
        size = self.padded[self.owner]
        np.add.at(change, sections.piece_first, size)
        np.subtract.at(change, sections.piece_last, size)
        total = np.cumsum(change[:-1])
        padding = int((self.padded - self.size).max(initial=0))
        if not padding:
            return int(total.max(initial=0))
        return max(
            int(total[section] - (self.padded - self.size)[members].max(initial=0))
            for section, members in enumerate(sections.members())
        )

    def height(self, address: Ints) -> int:
        """Return the height (bytes) of a placement."""
        return int((address + self.size).max(initial=0))


@dataclass(frozen=True, eq=False)
class Sections:
    """Sections of time, numbered from 0, and the ones in which each buffer is live.

    Of the moments at which the set of live buffers changes only the ones with a maximal set are
    kept: any two buffers that are ever live together share such a section. A piece covers the
    sections `piece_first` up to before `piece_last` (uint32); the pieces of buffer b are numbered
    `pieces[b]` up to before `pieces[b + 1]`. `first` and `last` span all sections of a buffer.
    """

    count: int
    piece_first: Numbers
    piece_last: Numbers
    pieces: Numbers
    first: Numbers
    last: Numbers

    @classmethod
    def of(cls, buffers: Buffers) -> Sections:
        """Find the sections: a set is maximal between a birth and the next death."""
        times = np.unique(np.concatenate((buffers.begin, buffers.end)))
        begin, end = (np.searchsorted(times, each) for each in (buffers.begin, buffers.end))
        before_death = np.unique(end) - 1
        births = np.cumsum(np.bincount(begin, minlength=len(times)))[before_death]
        kept = before_death[np.diff(births, prepend=0) > 0]
        first = np.searchsorted(kept, begin).astype(np.uint32)
        last = np.searchsorted(kept, end).astype(np.uint32)
        pieces = np.searchsorted(buffers.owner, np.arange(len(buffers) + 1))
        return cls(
            count=len(kept),
            piece_first=first,
            piece_last=last,
            pieces=pieces.astype(np.uint32),
            first=np.minimum.reduceat(first, pieces[:-1]) if len(first) else first,
            last=np.maximum.reduceat(last, pieces[:-1]) if len(last) else last,
        )

    @cached_property
    def load(self) -> int:
        """The number of pairs of a section and a buffer that is live in it."""
        return int((self.piece_last.astype(np.int64) - self.piece_first).sum())

    def of_buffer(self, buffer: int) -> Iterator[int]:
        """Yield the sections in which a buffer is live, in ascending order."""
        for piece in range(int(self.pieces[buffer]), int(self.pieces[buffer + 1])):
            yield from range(int(self.piece_first[piece]), int(self.piece_last[piece]))

    def members(self) -> list[list[int]]:
        """Return the buffers that are live in each section, in ascending order."""
        found: list[list[int]] = [[] for _ in range(self.count)]
        for buffer in range(len(self.pieces) - 1):
            for section in self.of_buffer(buffer):
                found[section].append(buffer)
        return found
