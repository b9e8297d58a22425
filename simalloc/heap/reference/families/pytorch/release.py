"""Returning of memory to the device by PyTorch's caching allocator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.heap.reference.families.device.device import Pool
from simalloc.heap.reference.families.pytorch.expandable import unmap

if TYPE_CHECKING:
    from simalloc.heap.reference.families.pytorch.pytorch import PyTorchHeap


def release_all(heap: PyTorchHeap) -> None:
    """Release whole blocks, or pages of expandable segments, except those in private pools."""
    for small in (False, True):
        pool = heap.pool(0, small=small)
        for block in list(pool.free) if heap.rules.expandable else heap.whole_blocks(pool):
            if heap.rules.expandable:
                unmap(heap, block)
            else:
                _release(heap, block)


def release_oversize(heap: PyTorchHeap, pool: Pool, stream: int, size: int) -> bool:
    """Release blocks that are never split, until a request fits.

    If one free block is large enough, only that block is released. Otherwise smaller blocks are
    released, the largest first. Returns False if the request still does not fit.
    """
    least = heap.rules.max_split
    if least is None or heap.rules.expandable:
        return False
    wanted = max(size, least)
    alone = heap.best_fit(pool, stream, wanted)
    if alone is not None:
        _release(heap, alone)
        return True
    released = 0
    own = [block for block in pool.free if heap.of[block].stream == stream]
    for block in reversed(own):
        has = heap.block_size(block)
        if released >= wanted or has < least:
            break
        _release(heap, block)
        released += has
    return released >= wanted


def collect_garbage(heap: PyTorchHeap) -> None:
    """Release whole large blocks of at least mean age while too much memory is reserved.

    A block's age is the number of searches of its pool since it entered.
    """
    above = heap.rules.collected_above
    if above is None or heap.blocks.mapped <= above:
        return
    pool, target = heap.pool(0, small=False), heap.blocks.mapped - above
    age = {block: pool.searches - heap.of[block].entered for block in heap.whole_blocks(pool)}
    reclaimed, freed_one = 0, not heap.rules.expandable
    while reclaimed < target and freed_one and age:
        count, ages = len(age), sum(age.values())
        old = [block for block in age if age[block] >= ages / count]
        for block in old:
            reclaimed += heap.block_size(block)
            _release(heap, block)
            del age[block]
        freed_one = bool(old)


def _release(heap: PyTorchHeap, block: int) -> None:
    size = heap.block_size(block)
    heap.take(block)
    heap.give_segment_back(block)
    heap.statistics.oversize_segments.add(-heap.is_oversize(size))
