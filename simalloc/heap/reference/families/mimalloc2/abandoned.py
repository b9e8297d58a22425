"""The segments of mimalloc 2 that nobody owns."""

from __future__ import annotations

from simalloc.heap.reference.families.mimalloc2.segment import Segment


class Abandoned:
    """Two stacks of segments: those to be looked at, and those that were looked at since."""

    def __init__(self) -> None:
        self._new: list[Segment] = []
        self._visited: list[Segment] = []

    def push(self, segment: Segment) -> None:
        """Enter a segment that was abandoned."""
        self._new.append(segment)

    def push_visited(self, segment: Segment) -> None:
        """Enter a segment that was looked at and is of no use yet."""
        self._visited.append(segment)

    def revisit(self) -> None:
        """Let all segments that were looked at be looked at again."""
        self._new += self._visited
        self._visited = []

    def pop(self) -> Segment | None:
        """Take out the segment to be looked at next, if there is any."""
        if not self._new:
            self.revisit()
        return self._new.pop() if self._new else None
