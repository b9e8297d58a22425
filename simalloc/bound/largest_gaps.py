"""The largest free block of a placement over time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedDict, SortedList

from simalloc.bound.placement import Placement
from simalloc.bound.timetable import NONE


def largest_gaps(placement: Placement) -> NDArray[np.int64]:
    """Return the size of the largest free block after each event (int64, units of the placement).

    As in `Swept`, the heap ends at the highest end of an object so far, and every gap between
    objects is a free block. The size is 0 if the heap has no free block.
    """
    table, gaps = placement.table, _Gaps()
    start, size = placement.address.tolist(), table.size.tolist()
    largest = np.zeros(table.events, np.int64)
    for event, (born, died) in enumerate(
        zip(table.begins.tolist(), table.ends.tolist(), strict=True)
    ):
        if died != NONE:
            gaps.free(start[died], start[died] + size[died])
        if born != NONE:
            gaps.take(start[born], start[born] + size[born])
        largest[event] = gaps.largest
    return largest


class _Gaps:
    """The free blocks of a heap, by start and by size. Free blocks are never adjacent."""

    def __init__(self) -> None:
        self._heap = 0
        self._end_of: SortedDict[int, int] = SortedDict()
        self._start_of: dict[int, int] = {}
        self._sizes: SortedList[int] = SortedList()

    @property
    def largest(self) -> int:
        """The size of the largest gap, or 0."""
        return self._sizes[-1] if self._sizes else 0

    def free(self, start: int, end: int) -> None:
        """Free an object and merge it with adjacent gaps."""
        if start in self._start_of:
            start = self._drop(self._start_of[start])[0]
        if end in self._end_of:
            end = self._drop(end)[1]
        self._add(start, end)

    def take(self, start: int, end: int) -> None:
        """Place an object, which is inside one gap or ends beyond the end of the heap."""
        if end > self._heap:
            self.free(self._heap, end)
            self._heap = end
        low, high = self._drop(next(self._end_of.irange(maximum=start, reverse=True)))
        self._add(low, start)
        self._add(end, high)

    def _add(self, start: int, end: int) -> None:
        if start < end:
            self._end_of[start], self._start_of[end] = end, start
            self._sizes.add(end - start)

    def _drop(self, start: int) -> tuple[int, int]:
        end = self._end_of.pop(start)
        del self._start_of[end]
        self._sizes.remove(end - start)
        return start, end
