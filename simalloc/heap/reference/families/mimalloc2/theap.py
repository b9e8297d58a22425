"""A thread's heap in mimalloc 2: its queues of pages and of free spans."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from simalloc.heap.reference.families.mimalloc.theap import Theap as SomeTheap
from simalloc.heap.reference.families.mimalloc2.page import Page
from simalloc.heap.reference.families.mimalloc2.segment import Segment

_SPAN_ENDS: Final = (
    *range(1, 8),
    *(steps << doubling for doubling in range(1, 7) for steps in (5, 6, 7, 8)),
)
"""Maximum slices of the spans in each queue: one queue per length to 7, then four per doubling."""


@dataclass(eq=False)
class Theap(SomeTheap[Page]):
    """State of a thread."""

    record: int | None = None
    """Mapping that contains the state, or None for the main thread."""
    spans: list[list[tuple[Segment, int]]] = field(default_factory=lambda: [[] for _ in _SPAN_ENDS])
    """Free spans by size, as segments and first slices, the newest first."""
    segments: int = 0
    delayed: list[int] = field(default_factory=list)
    """Blocks of this thread's pages that other threads freed."""

    def add_span(self, segment: Segment, index: int, count: int) -> None:
        """Enter a free span as the newest of its queue."""
        self.spans[bisect_left(_SPAN_ENDS, count)].insert(0, (segment, index))

    def remove_span(self, segment: Segment, index: int, count: int) -> None:
        """Remove a free span from its queue."""
        self.spans[bisect_left(_SPAN_ENDS, count)].remove((segment, index))

    def spans_from(self, count: int) -> Iterator[tuple[Segment, int]]:
        """Yield the spans that may have at least `count` slices, in search order."""
        for queue in self.spans[bisect_left(_SPAN_ENDS, count) :]:
            yield from queue


class Abandoned:
    """Two stacks of abandoned segments: the segments to visit, and the visited segments."""

    def __init__(self) -> None:
        self._new: list[Segment] = []
        self._visited: list[Segment] = []

    def push(self, segment: Segment) -> None:
        """Enter a newly abandoned segment."""
        self._new.append(segment)

    def push_visited(self, segment: Segment) -> None:
        """Enter a segment that was visited and cannot be reclaimed yet."""
        self._visited.append(segment)

    def revisit(self) -> None:
        """Make all visited segments due for another visit."""
        self._new += self._visited
        self._visited = []

    def pop(self) -> Segment | None:
        """Remove and return the segment to visit next, or None."""
        if not self._new:
            self.revisit()
        return self._new.pop() if self._new else None
