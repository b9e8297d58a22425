"""The segments of a heap: the break segment and mapped segments."""

from __future__ import annotations

from typing import Final

from simalloc.errors import SimallocError

MAX_BREAK: Final = 1 << 62
"""Highest break in scaled bytes. The sum of two addresses still fits 64 bits."""


class Segments:
    """The break segment `[0, brk)` and the mapped segments, each identified by its start.

    A mapped segment gets the next higher address, from 2**62 on. A heap without a break has only
    mapped segments, from address 0 on. No address is used twice. Alignment can leave holes between
    segments.
    """

    def __init__(self, *, has_break: bool = True) -> None:
        self.brk = 0
        self.ends: dict[int, int] = {}
        self._base = MAX_BREAK if has_break else 0
        self._next = self._base

    def raise_break(self, size: int) -> int:
        """Raise the break; return its old value. Raises `SimallocError` beyond `MAX_BREAK`."""
        if self.brk + size > MAX_BREAK:
            raise SimallocError("the heap would exceed 2**62 bytes")
        self.brk += size
        return self.brk - size

    def lower_break(self, size: int) -> None:
        """Lower the break."""
        assert 0 < size <= self.brk, "the break is never below 0"
        self.brk -= size

    def map(self, size: int, alignment: int = 1) -> int:
        """Map a segment at a multiple of `alignment`; return its address.

        Raises `SimallocError` if the heap would exceed its range of addresses.
        """
        start = -(-self._next // alignment) * alignment
        if start + size > self._base + MAX_BREAK:
            raise SimallocError("the heap would exceed 2**62 bytes")
        self.ends[start] = self._next = start + size
        return start

    def unmap(self, start: int) -> int:
        """Unmap the segment that begins at `start`; return its size."""
        return self.ends.pop(start) - start

    def spans(self) -> list[tuple[int, int]]:
        """Return start and end of every segment that is not empty, by address."""
        spans = [(0, self.brk), *sorted(self.ends.items())]
        return [(start, end) for start, end in spans if start < end]
