"""Buffers with known lifetimes, and the sections of time in which they compete for addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.exact.bans import Bans
from simalloc.bound.timetable import Timetable

Ints = NDArray[np.int64]
Numbers = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Buffers:
    """Buffers of fixed size, each live during one or more pieces of time.

    `size` and `alignment` (int64, bytes, at least 1) have an entry for each buffer. The other
    columns (int64) have an entry for each piece. The buffer `owner` (ascending) is live from
    `begin` until just before `end`, and uses the bytes from `low` to `high - 1`, counted from its
    address. Between two pieces of a buffer there is a gap, in which other buffers may use its
    addresses. If a piece uses only some bytes of its buffer, other buffers may use the remaining
    ones.
    """

    size: Ints
    alignment: Ints
    owner: Ints
    begin: Ints
    end: Ints
    low: Ints
    high: Ints

    @classmethod
    def of(cls, table: Timetable) -> Buffers:
        """Return the lives of a timetable as buffers."""
        if table.pieces is None:
            owner = np.arange(len(table))
            return cls.whole(table.size, table.alignment, owner, table.born, table.died)
        order = np.argsort(table.pieces.owner, kind="stable")
        parts, low = table.pieces.table, table.pieces.low[order]
        return cls(
            table.size,
            table.alignment,
            table.pieces.owner[order],
            parts.born[order],
            parts.died[order],
            low,
            low + parts.size[order],
        )

    @classmethod
    def whole(cls, size: Ints, alignment: Ints, owner: Ints, begin: Ints, end: Ints) -> Buffers:
        """Return buffers that use all of their bytes in each piece."""
        return cls(size, alignment, owner, begin, end, np.zeros_like(owner), size[owner])

    def __len__(self) -> int:
        return len(self.size)

    @cached_property
    def grain(self) -> int:
        """The greatest number of bytes that divides the address at which each piece begins."""
        return int(np.gcd.reduce(np.append(self.alignment, self.low), initial=0)) or 1

    @cached_property
    def room(self) -> Ints:
        """The bytes that each piece uses, rounded up to `grain` (int64)."""
        return -(-(self.high - self.low) // self.grain) * self.grain

    @cached_property
    def padding(self) -> Ints:
        """The unused bytes in the `room` of each piece (int64)."""
        return self.room - (self.high - self.low)

    @cached_property
    def is_whole(self) -> bool:
        """True if every piece uses all bytes of its buffer."""
        return not self.low.any() and bool((self.high == self.size[self.owner]).all())

    @cached_property
    def unit(self) -> int:
        """A number of bytes that divides the height of some minimal placement.

        An address in that placement is a sum of sizes and of bounds of pieces, rounded up to
        alignments. An alignment has no effect if it divides the unit; otherwise it has to be a
        multiple of the unit. Pieces of buffers may support each other in a cycle; with pieces, the
        unit is therefore 1 byte if any buffer has an alignment.
        """
        unit = int(np.gcd.reduce(np.concatenate((self.size, self.low, self.high)), initial=0)) or 1
        alignments = np.unique(self.alignment)
        if not self.is_whole and alignments.max(initial=1) > 1:
            return 1
        while (rounding := alignments[(unit % alignments != 0) & (alignments % unit != 0)]).size:
            unit = int(np.gcd(unit, rounding[0]))
        return unit

    @cached_property
    def step(self) -> int:
        """A number of bytes that divides all addresses of some minimal placement; 1 if aligned."""
        return 1 if self.alignment.max(initial=1) > 1 else self.unit

    @cached_property
    def bans(self) -> Bans:
        """The forbidden distances of pairs of buffers; empty if all pieces use whole buffers."""
        return Bans.none(len(self)) if self.is_whole else Bans.of(self)

    @cached_property
    def sections(self) -> Sections:
        """The sections of time, which determine all pairs of buffers that are live together."""
        return Sections.of(self)

    @cached_property
    def twins(self) -> Numbers:
        """The class of each buffer (uint32), equal for interchangeable buffers of one piece."""
        sections = self.sections
        single = np.diff(sections.pieces.astype(np.int64)) == 1
        single &= np.bincount(self.owner, self.high - self.low, len(self)) == self.size
        numbers = np.where(single, 0, 1 + np.arange(len(self)))
        key = np.stack((numbers, sections.first, sections.last, self.size, self.alignment))
        _, number = np.unique(key, axis=1, return_inverse=True)
        return number.reshape(-1).astype(np.uint32)

    def of_numbers(self, numbers: Ints) -> Buffers:
        """Return some of the buffers (ascending numbers) as a separate problem."""
        place = np.full(len(self), -1)
        place[numbers] = np.arange(len(numbers))
        kept = place[self.owner] >= 0
        return Buffers(
            self.size[numbers],
            self.alignment[numbers],
            place[self.owner[kept]],
            self.begin[kept],
            self.end[kept],
            self.low[kept],
            self.high[kept],
        )

    def parts(self) -> Iterator[Ints]:
        """Yield the numbers (ascending) of the buffers of each independent part of time.

        Two parts have no common section. Each part can therefore be placed separately.
        """
        sections = self.sections
        order = np.argsort(sections.first, kind="stable")
        reach = np.maximum.accumulate(sections.last[order].astype(np.int64))
        starts = np.flatnonzero(sections.first[order][1:] >= reach[:-1]) + 1
        for part in np.split(order, starts):
            yield np.sort(part)

    def bound(self) -> int:
        """Return a lower bound of the height (bytes): the maximum need of a section.

        The pieces of a section are stacked, each rounded up to the grain. Only the topmost piece
        can omit its padding.
        """
        sections = self.sections
        change = np.zeros(sections.count + 1, np.int64)
        np.add.at(change, sections.piece_first, self.room)
        np.subtract.at(change, sections.piece_last, self.room)
        total = np.cumsum(change[:-1])
        needed = total
        if self.padding.any():
            needed = np.array([int(total[section] - self.padding[members].max(initial=0))
                               for section, members in enumerate(sections.members())])  # fmt: skip
        return int(max(needed.max(initial=0), self.size.max(initial=0)))

    def height(self, address: Ints) -> int:
        """Return the height (bytes) of a placement."""
        return int((address + self.size).max(initial=0))


@dataclass(frozen=True, eq=False)
class Sections:
    """Sections of time, numbered from 0, and the sections in which each buffer is live.

    A section is a moment at which the set of live buffers is maximal: no larger set at another
    moment contains it. Any two buffers that are ever live together share a section. A piece covers
    the sections from `piece_first` to `piece_last - 1` (uint32). Buffer b has the pieces from
    number `pieces[b]` to `pieces[b + 1] - 1`. `first` and `last` span all sections of a buffer.
    """

    count: int
    piece_first: Numbers
    piece_last: Numbers
    pieces: Numbers
    first: Numbers
    last: Numbers

    @classmethod
    def of(cls, buffers: Buffers) -> Sections:
        """Return the sections. A set is maximal between a birth and the next death."""
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

    def members(self) -> list[list[int]]:
        """Return the pieces that are live in each section, in ascending order."""
        found: list[list[int]] = [[] for _ in range(self.count)]
        spans = zip(self.piece_first.tolist(), self.piece_last.tolist(), strict=True)
        for piece, (first, last) in enumerate(spans):
            for section in range(first, last):
                found[section].append(piece)
        return found
