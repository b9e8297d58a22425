"""Lowering the break when the free block that ends there is large."""

from __future__ import annotations

from collections.abc import Callable

from simalloc.heap.reference.heap import Heap
from simalloc.policy.parts import Splitting


def trim_tail(heap: Heap, parts: Splitting, growth: int, leave: Callable[[int], None]) -> None:
    """Cut whole growth units off the free block at the break if it is large enough.

    `leave` removes the block from the family's structures (docs/policies.md, Parts: Trimming).
    """
    last = heap.blocks.last
    if not parts.trim or not heap.blocks.is_free(last):
        return
    size = heap.block_size(last)
    if size < parts.trim:
        return
    excess = max(size - parts.trim_keep, 0)
    excess -= excess % growth
    if not excess:
        return
    leave(last)
    heap.blocks.lower(excess)
    if excess < size:
        heap.free(last)
