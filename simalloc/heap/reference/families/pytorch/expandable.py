"""PyTorch's expandable segments: ranges of addresses whose pages are mapped and unmapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.heap.reference.families.device.device import Pool
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.policy.device.base import GRANULE

if TYPE_CHECKING:
    from simalloc.heap.reference.families.pytorch.pytorch import PyTorchHeap


def reach(heap: PyTorchHeap, block: int) -> int:
    """Return the size to which a free block can grow without moving."""
    behind = heap.blocks.after(block)
    more = heap.block_size(behind) if behind is not None and heap.is_hole(behind) else 0
    return heap.block_size(block) + more


def grow(heap: PyTorchHeap, pool: Pool, stream: int, size: int) -> int | None:
    """Map pages for a free block of at least `size`; return the block, in no list, or None.

    Returns None if the device refuses a page; the pages mapped before then stay mapped. Also
    returns None if even a new range is too short.
    """
    block = _start(heap, pool, stream, size)
    if block is not None and heap.is_hole(block):
        block = _map(heap, block, min(heap.block_size(block), size))
    while block is not None and heap.block_size(block) < size:
        behind = heap.blocks.after(block)
        assert behind is not None, "the chosen start has enough space behind it"
        missing = size - heap.block_size(block)
        block = _map(heap, behind, min(missing, heap.block_size(behind)))
    if block is not None:
        heap.take(block)
    return block


def unmap(heap: PyTorchHeap, block: int) -> None:
    """Unmap the pages that are wholly inside a free block.

    Pages are counted from the start of the block's range.
    """
    page, first = _page_size(heap, block), heap.of[block].origin
    end = block + heap.block_size(block)
    low = first + round_up(block - first, page)
    high = first + (end - first) // page * page
    if low >= high:
        return
    heap.take(block)
    if end > high:
        heap.put(heap.cut(block, high - block))
    if block < low:
        inside = heap.cut(block, low - block)
        heap.put(block)
        block = inside
    heap.unmap(block)
    hole, _ = heap.merge(block)
    if heap.blocks.is_segment(hole):
        heap.drop_segment(hole)
    else:
        heap.put(hole)


def _page_size(heap: PyTorchHeap, block: int) -> int:
    return GRANULE if heap.of[block].pool.small else heap.rules.large_segment


def _start(heap: PyTorchHeap, pool: Pool, stream: int, size: int) -> int | None:
    """Return the first block from which free blocks and holes contain `size` bytes.

    If no block does, a new range is reserved. Returns None if the new range is too short; it is
    then dropped, and its addresses are lost.
    """
    for hole in pool.holes:
        if heap.of[hole].stream != stream:
            continue
        before = heap.blocks.before(hole)
        start = before if heap.blocks.is_free(before) else hole
        if _has_room(heap, start, size):
            return int(start)
    page = GRANULE if pool.small else heap.rules.large_segment
    length = round_up(heap.rules.range, page)
    start = heap.take_range(pool, stream, length)
    if length < size:
        heap.drop_segment(start)
        return None
    heap.put(start)
    return start


def _has_room(heap: PyTorchHeap, block: int | None, size: int) -> bool:
    while size > 0:
        if block is None or not (heap.is_hole(block) or heap.blocks.is_free(block)):
            return False
        size -= heap.block_size(block)
        block = heap.blocks.after(block)
    return True


def _map(heap: PyTorchHeap, hole: int, size: int) -> int | None:
    """Map whole pages from the start of a hole; return the free block there.

    Returns None if the device refuses the pages.
    """
    size = round_up(size, _page_size(heap, hole))
    if not heap.has_room(size):
        return None
    heap.take(hole)
    if heap.block_size(hole) > size:
        heap.put(heap.cut(hole, size))
    heap.map(hole)
    block, _ = heap.merge(hole)
    heap.put(block)
    return block
