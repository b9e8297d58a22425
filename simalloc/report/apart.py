"""The legend of a heap map for memory that has no place on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.sizes import spell_bytes

if TYPE_CHECKING:
    from simalloc.measure import HeapMap


def beside(heap: HeapMap, words: str, separator: str = "; ") -> str:
    """Return words on a map, and after them how much of its heap is mapped apart, if any is."""
    note = f"not shown: up to {spell_bytes(heap.apart)} mapped apart" if heap.apart else ""
    return separator.join(filter(None, (words, note)))
