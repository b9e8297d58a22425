"""Reference implementation of the exact search, in plain Python.

The method follows Moffitt, "MiniMalloc" (ASPLOS 2023): sections of time, placements in canonical
order, inference of lower bounds for each section, and independent parts.

Every buffer has a lower bound of its address, `low`. The search takes the buffer with the lowest
bound, at a tie with the lowest rank, and tries two cases.

1. *The buffer is located at its bound.* No other buffer of the part begins lower. Every buffer
   that is live together with it is therefore located above it, and its bound rises. The remaining
   buffers form parts that have no common section, and each part is searched separately.
2. *The buffer is located higher.* Some best placement has no buffer that could be moved down. The
   buffer therefore rests on an unplaced buffer, and its bound rises to the lowest top among the
   unplaced buffers beside it. Buffers with the same lifetime, size, alignment and bound are
   interchangeable, and their bounds rise together.

After each step the sections with changed bounds are examined. The unplaced pieces of a section are
stacked in the order of their bounds, which gives the minimum height of any order. A section whose
height exceeds the capacity refutes the case.

*Pieces that use a part of their buffer.* Two buffers that are live together then have several
forbidden distances (`bans.py`), and neither has to be above the other. A bound is the lowest
address that the placed buffers allow, and rises above every ban that it falls into. In case 2,
consider the placement with the lowest sum of addresses. The buffer is not located at its bound
because some unplaced buffer bans it there. The bound therefore rises to the upper end of a ban that
can contain it, and by at least one step. A step is the unit of the problem if no buffer is aligned,
otherwise one byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from simalloc.bound.exact.buffers import Buffers, Numbers
from simalloc.bound.exact.engine import Asked, Outcome, Searched

_NONE: Final = -1


def fit(
    buffers: Buffers,
    rank: Numbers,
    capacity: int,
    nodes: int,
    seconds: float = 0.0,
    goes_on: Asked | None = None,
    /,
) -> Searched:
    """Search for a placement of the buffers below `capacity` bytes, within a number of nodes."""
    del seconds, goes_on  # the reference implementation has no clock
    search = _Search(buffers, rank.tolist(), capacity, nodes)
    members = np.lexsort((np.arange(len(buffers)), buffers.sections.first)).tolist()
    fitting = (buffers.size <= capacity).all() and search.all_sections_fit()
    if not fitting:
        outcome = Outcome.REFUTED
    elif search.solve(members):
        outcome = Outcome.FITS
    else:
        outcome = Outcome.UNDECIDED if search.stopped else Outcome.REFUTED
    return Searched(outcome, search.nodes, np.array(search.failures, np.int64),
                    np.array(search.low, np.int64))  # fmt: skip


class _Search:
    """State of a search; `low` is a placed buffer's address or an unplaced buffer's bound."""

    def __init__(self, buffers: Buffers, rank: Sequence[int], capacity: int, nodes: int) -> None:
        sections = buffers.sections
        self.low = [0] * len(buffers)
        self.failures = [0] * sections.count
        self.nodes = 0
        self.stopped = False
        self._limit = nodes
        self._capacity = capacity
        self._rank = rank
        self._size: list[int] = buffers.size.tolist()
        self._alignment: list[int] = buffers.alignment.tolist()
        self._twins: list[int] = buffers.twins.tolist()
        self._owner: list[int] = buffers.owner.tolist()
        self._piece_low: list[int] = buffers.low.tolist()
        self._room: list[int] = buffers.room.tolist()
        self._padding: list[int] = buffers.padding.tolist()
        self._first: list[int] = sections.first.tolist()
        self._last: list[int] = sections.last.tolist()
        self._members = sections.members()
        self._sections: list[list[int]] = [[] for _ in range(len(buffers))]
        for section, pieces in enumerate(self._members):
            for piece in pieces:
                self._sections[self._owner[piece]].append(section)
        self._bans = _bans_by_buffer(buffers)
        self._step = buffers.step
        self._placed = [False] * len(buffers)
        self._changed: set[int] = set()

    def solve(self, part: Sequence[int]) -> bool:
        """Place the buffers of a part, sorted by first section.

        If this fails, leave all unplaced.
        """
        if not part:
            return True
        before = self.low[:]
        while self._visit():
            lowest = min(part, key=lambda buffer: (self.low[buffer], self._rank[buffer]))
            undone = self.low[:]
            if self._place(lowest) and all(map(self.solve, self._split(part))):
                return True
            self.low = undone
            for buffer in part:
                self._placed[buffer] = False
            if self.stopped or not self._raise_twins(part, lowest):
                break
        self.low = before
        return False

    def all_sections_fit(self) -> bool:
        """Return whether every section fits before any buffer is placed."""
        return all(map(self._section_fits, range(len(self._members))))

    def _visit(self) -> bool:
        if self.nodes == self._limit:
            self.stopped = True
            return False
        self.nodes += 1
        return True

    def _place(self, buffer: int) -> bool:
        """Place a buffer at its bound and raise its neighbours' bounds.

        Return False if this fails.
        """
        self._placed[buffer] = True
        top = self.low[buffer] + self._size[buffer]
        raised = True
        for other in self._unplaced_beside(buffer):
            bound = self.low[other] if self._bans else top
            raised = self._raise(other, bound) and raised
        return self._changed_sections_fit() and raised

    def _raise_twins(self, part: Sequence[int], lowest: int) -> bool:
        """Raise the bounds of a buffer and its twins, which cannot be located at their bound."""
        low = self.low[lowest]
        raised = True
        for buffer in part:
            if self._twins[buffer] == self._twins[lowest] and self.low[buffer] == low:
                rest = self._lowest_rest(buffer)
                raised = raised and rest is not None and self._raise(buffer, rest)
        return self._changed_sections_fit() and raised

    def _lowest_rest(self, buffer: int) -> int | None:
        """Return the lowest address above the bound that rests on an unplaced buffer."""
        low = self.low[buffer]
        if self._bans:
            rests = [
                max(self.low[ban.other] + ban.over, low + self._step)
                for ban in self._bans[buffer]
                if not self._placed[ban.other] and self.low[ban.other] + ban.under < low
            ]
        else:
            rests = [self.low[other] + self._size[other] for other in self._unplaced_beside(buffer)]
        return min(rests, default=None)

    def _raise(self, buffer: int, bound: int) -> bool:
        """Raise a bound to at least `bound`.

        Return False if the buffer then exceeds the capacity.
        """
        allowed = self._allowed(buffer, bound)
        if allowed > self.low[buffer]:
            self.low[buffer] = allowed
            self._changed.update(self._sections[buffer])
        return self.low[buffer] + self._size[buffer] <= self._capacity

    def _allowed(self, buffer: int, bound: int) -> int:
        """Return the lowest aligned address of at least `bound` that no placed buffer bans."""
        alignment = self._alignment[buffer]
        address = -(-bound // alignment) * alignment
        placed = [ban for ban in self._bans.get(buffer, ()) if self._placed[ban.other]]
        while over := [
            self.low[ban.other] + ban.over
            for ban in placed
            if ban.under < address - self.low[ban.other] < ban.over
        ]:
            address = -(-max(over) // alignment) * alignment
        return address

    def _unplaced_beside(self, buffer: int) -> list[int]:
        """Return the unplaced buffers that are live together with a buffer, in ascending order."""
        pieces = {piece for section in self._sections[buffer] for piece in self._members[section]}
        beside = {self._owner[piece] for piece in pieces} - {buffer}
        return sorted(other for other in beside if not self._placed[other])

    def _changed_sections_fit(self) -> bool:
        """Examine the sections with changed bounds, up to the first that does not fit."""
        changed = sorted(self._changed)
        self._changed.clear()
        return all(map(self._section_fits, changed))

    def _section_fits(self, section: int) -> bool:
        unplaced = [piece for piece in self._members[section]
                    if not self._placed[self._owner[piece]]]  # fmt: skip
        height = 0
        for piece in sorted(unplaced, key=self._begin):
            height = max(height, self._begin(piece)) + self._room[piece]
        padding = max((self._padding[piece] for piece in unplaced), default=0)
        if height - padding <= self._capacity:
            return True
        self.failures[section] += 1
        return False

    def _begin(self, piece: int) -> int:
        """Return the bound of the address at which a piece begins."""
        return self.low[self._owner[piece]] + self._piece_low[piece]

    def _split(self, part: Sequence[int]) -> list[list[int]]:
        """Return the unplaced buffers of a part as parts without a common section."""
        found: list[list[int]] = []
        reach = _NONE
        for buffer in part:
            if self._placed[buffer]:
                continue
            if self._first[buffer] >= reach:
                found.append([])
            found[-1].append(buffer)
            reach = max(reach, self._last[buffer])
        return found


class _Ban(NamedTuple):
    other: int
    under: int
    over: int


def _bans_by_buffer(buffers: Buffers) -> dict[int, list[_Ban]]:
    """Return the bans by buffer, or an empty dictionary if all pieces use whole buffers."""
    bans = buffers.bans
    if buffers.is_whole:
        return {}
    rows = [*map(_Ban, bans.other.tolist(), bans.under.tolist(), bans.over.tolist())]
    start = bans.start.tolist()
    return {buffer: rows[start[buffer] : start[buffer + 1]] for buffer in range(len(buffers))}
