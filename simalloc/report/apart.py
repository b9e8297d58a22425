"""Legend of a heap map for memory that is mapped apart from the heap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.sizes import spell_bytes

if TYPE_CHECKING:
    from simalloc.measure import HeapMap


def beside(heap: HeapMap, words: str, separator: str = "; ") -> str:
    """Return the legend `words`, with the memory that a heap maps apart, if any, added."""
    note = f"not shown: up to {spell_bytes(heap.apart)} mapped apart" if heap.apart else ""
    return separator.join(filter(None, (words, note)))
