"""Requested alignments, served over any family that supports them."""

from __future__ import annotations

from math import lcm

from simalloc.errors import SimallocError
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import MAX_BREAK, Refused
from simalloc.policy.parts import Aligning


def allocate_aligned(heap: Heap, how: Aligning, size: int, alignment: int) -> int:
    """Return a block of at least `size` bytes at a multiple of `alignment`.

    docs/policies.md, Parts: Requested alignment. Raises `SimallocError` if the alignment cannot be
    served.
    """
    if how.natural_limit and how.natural_limit % alignment == 0:
        return heap.malloc(max(size, alignment))
    if not how.min_remainder:
        raise SimallocError("the requested alignment is larger than the policy supports")
    size, alignment = max(round_up(size, how.unit), how.min_remainder), lcm(alignment, how.unit)
    taken = round_up(size + alignment + how.min_remainder - 1, how.unit)
    if taken > MAX_BREAK:
        if heap.blocks.limit is not None:
            raise Refused
        raise SimallocError("the heap would exceed 2**62 bytes")
    heap.blocks.segment_alignment = alignment
    try:
        address = heap.malloc(taken)
    finally:
        heap.blocks.segment_alignment = 1
    if heap.blocks.is_segment(address):
        return address
    visited = heap.visited
    address = _cut_to(heap, address, how.min_remainder, size, alignment)
    heap.visited = visited
    return address


def _cut_to(heap: Heap, block: int, least: int, size: int, alignment: int) -> int:
    """Free the parts of a block in front of and behind its first suitable address."""
    address = round_up(block, alignment)
    if address > block:
        address = round_up(max(address, block + least), alignment)
        heap.front.free(_low_end(heap, block, address - block))
    if heap.block_size(address) - size >= least:
        _low_end(heap, address, size)
        heap.front.free(address + size)
    return address


def _low_end(heap: Heap, block: int, size: int) -> int:
    """Split an allocated block in two, the low one of `size`, and return the low one."""
    heap.blocks.cut(block, size)
    heap.splits += 1
    return block
