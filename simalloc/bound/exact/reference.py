"""The exact search in plain Python: the definition.

The method follows Moffitt, "MiniMalloc" (ASPLOS 2023): sections of time, placements in canonical
order, inference of lower bounds for each section, and independent parts.

Every buffer has a lower bound of its address, `low`. The search takes the buffer with the lowest
bound, at a tie with the lowest rank, and tries two cases.

1. *It is located at its bound.* No other buffer of the part begins lower, so that every one that
   is live together with it is located above it. Their bounds rise. The buffers that are left fall
   into parts that have no section in common, and each part is searched on its own.
2. *It is located higher.* Some best placement has no buffer that could be moved down. The buffer
   therefore rests on another one that is still to be placed, and its bound rises to the lowest top
   among those. Buffers with the same lifetime, size, alignment and bound are interchangeable, and
   their bounds rise together.

After each step the sections with changed bounds are examined. The unplaced buffers of a section,
stacked in the order of their bounds, need a height that no other order undercuts; a section in
which the height exceeds the capacity refutes the case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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
    del seconds, goes_on  # the definition has no clock
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
    """The state of one search; `low` is a placed buffer's address, and another one's bound."""

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
        self._padded: list[int] = buffers.padded.tolist()
        self._alignment: list[int] = buffers.alignment.tolist()
        self._twins: list[int] = buffers.twins.tolist()
        self._first: list[int] = sections.first.tolist()
        self._last: list[int] = sections.last.tolist()
        self._sections = [list(sections.of_buffer(buffer)) for buffer in range(len(buffers))]
        self._members = sections.members()
        self._placed = [False] * len(buffers)
        self._changed: set[int] = set()

    def solve(self, part: Sequence[int]) -> bool:
        """Place the buffers of a part, sorted by first section; otherwise leave all unplaced."""
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
        """Examine every section before anything is placed."""
        return all(map(self._section_fits, range(len(self._members))))

    def _visit(self) -> bool:
        if self.nodes == self._limit:
            self.stopped = True
            return False
        self.nodes += 1
        return True

    def _place(self, buffer: int) -> bool:
        """Locate a buffer at its bound and all that it meets above it; False if that fails."""
        self._placed[buffer] = True
        top = self.low[buffer] + self._size[buffer]
        raised = True
        for other in self._unplaced_beside(buffer):
            raised = self._raise(other, top) and raised
        return self._changed_sections_fit() and raised

    def _raise_twins(self, part: Sequence[int], lowest: int) -> bool:
        """Raise the bounds of a buffer and its twins, which cannot be located at their bound."""
        low = self.low[lowest]
        raised = True
        for buffer in part:
            if self._twins[buffer] == self._twins[lowest] and self.low[buffer] == low:
                tops = [self.low[other] + self._size[other]
                        for other in self._unplaced_beside(buffer)]  # fmt: skip
                raised = raised and bool(tops) and self._raise(buffer, min(tops))
        return self._changed_sections_fit() and raised

    def _raise(self, buffer: int, bound: int) -> bool:
        """Raise a bound to at least `bound`; False if the buffer then exceeds the capacity."""
        aligned = -(-bound // self._alignment[buffer]) * self._alignment[buffer]
        if aligned > self.low[buffer]:
            self.low[buffer] = aligned
            self._changed.update(self._sections[buffer])
        return self.low[buffer] + self._size[buffer] <= self._capacity

    def _unplaced_beside(self, buffer: int) -> list[int]:
        """Return the unplaced buffers that are live together with one, in ascending order."""
        beside = {other for section in self._sections[buffer] for other in self._members[section]}
        return sorted(other for other in beside - {buffer} if not self._placed[other])

    def _changed_sections_fit(self) -> bool:
        """Examine the sections with changed bounds, up to the first that does not fit."""
        changed = sorted(self._changed)
        self._changed.clear()
        return all(map(self._section_fits, changed))

    def _section_fits(self, section: int) -> bool:
        unplaced = [other for other in self._members[section] if not self._placed[other]]
        height = 0
        for buffer in sorted(unplaced, key=lambda buffer: self.low[buffer]):
            height = max(height, self.low[buffer]) + self._padded[buffer]
        padding = max((self._padded[each] - self._size[each] for each in unplaced), default=0)
        if height - padding <= self._capacity:
            return True
        self.failures[section] += 1
        return False

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
