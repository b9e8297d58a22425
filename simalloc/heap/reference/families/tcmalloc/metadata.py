"""tcmalloc's records, in pieces of the break between the spans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.policy.families.tcmalloc import Tcmalloc

if TYPE_CHECKING:
    from simalloc.heap.reference.families.tcmalloc.page_heap import SpanHeap

METADATA_PIECE = 8 << 20
"""Bytes of metadata obtained from the system at once."""

_CHUNK = 128 * 1024
"""Bytes of a piece that are assigned at once to one kind of record."""

_LEAF = 2 << 20
"""Bytes of a part of the page table, which maps 2**18 pages to their spans."""

_LEAF_PAGES = 1 << 18


class Records:
    """Records of one size; the record freed last is reused first."""

    def __init__(self, metadata: Metadata, size: int) -> None:
        self._metadata = metadata
        self._size = size
        self._used = 0
        self._made = 0

    def change(self, by: int) -> None:
        """Change the number of used records; new records are made if no free record is left."""
        self._used += by
        while self._used > self._made:
            self._make()

    def _make(self) -> None:
        each = _CHUNK // self._size
        if self._made % each == 0:
            self._chunk = self._metadata.take(_CHUNK)
        self._metadata.heap.touch(self._chunk + self._made % each * self._size, self._size)
        self._made += 1


class Metadata:
    """Records and the table of pages; their memory is never returned to the system."""

    def __init__(self, heap: SpanHeap, description: Tcmalloc) -> None:
        self.heap = heap
        self._start = description.heap_start
        self._leaf_bytes = _LEAF_PAGES * description.page
        self.taken = 0
        """Bytes of all records and tables."""
        self._at = 0
        self._end = 0
        self._next_leaf = 0
        self.spans = Records(self, 48)
        self.growths = Records(self, 264)
        self.caches = Records(self, 4224)
        self.long_spans = Records(self, 48)

    def describe(self, address: int, size: int) -> None:
        """Record a growth and extend the page table to its pages and one page on each side."""
        self.growths.change(1)
        first = (self._start + address) // self._leaf_bytes
        last = (self._start + address + size) // self._leaf_bytes
        for _ in range(max(first, self._next_leaf), last + 1):
            self.heap.touch(self.take(_LEAF), _LEAF)
        self._next_leaf = last + 1

    def take(self, size: int) -> int:
        """Return the address of `size` bytes of the current piece, or of a new piece."""
        if self._at + size > self._end:
            self._at = self.heap.grow_table(METADATA_PIECE)
            self._end = self._at + METADATA_PIECE
        self._at += size
        self.taken += size
        return self._at - size
