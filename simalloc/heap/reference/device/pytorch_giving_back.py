"""How PyTorch's caching allocator gives memory back to the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.heap.reference.device.pytorch_expandable import unmap

if TYPE_CHECKING:
    from simalloc.heap.reference.device.blocks import Block
    from simalloc.heap.reference.device.pytorch import Pool, PyTorchAllocator


def release_all(allocator: PyTorchAllocator) -> None:
    """Give back whole blocks, and then pages of expandable segments; private pools keep theirs."""
    for small in (False, True):
        pool = allocator.pool(0, small=small)
        free = list(pool.free)
        for block in free:
            if block.whole and not block.expandable:
                _release(allocator, pool, block)
        for block in free:
            if block.expandable:
                unmap(allocator, pool, block)


def release_oversize(allocator: PyTorchAllocator, pool: Pool, stream: int, size: int) -> bool:
    """Give back blocks that are never split, until a request has room; False if it has not.

    One that is large enough goes alone; else those below it go, the largest first.
    """
    if allocator.rules.max_split is None:
        return False
    wanted = max(size, allocator.rules.max_split)
    at = pool.free.bisect_key_left((stream, wanted, 0))
    if at < len(pool.free) and pool.free[at].stream == stream and not pool.free[at].expandable:
        _release(allocator, pool, pool.free[at])
        return True
    released = 0
    for block in reversed(pool.free[:at]):
        if released >= wanted or block.stream != stream or block.size < allocator.rules.max_split:
            break
        if not block.expandable:
            _release(allocator, pool, block)
            released += block.size
    return released >= wanted


def collect_garbage(allocator: PyTorchAllocator) -> None:
    """Give back the whole large blocks that are older than the average, while too much is reserved.

    A block's age is the number of searches of its pool since it entered.
    """
    above, reserved = allocator.rules.collected_above, allocator.statistics.reserved
    if above is None or reserved.now <= above:
        return
    pool = allocator.pool(0, small=False)
    target = reserved.now - above
    whole = [block for block in pool.free if block.whole]
    count, ages = len(whole), sum(pool.searches - block.entered for block in whole)
    reclaimed, freed_one = 0, True
    while reclaimed < target and freed_one and count:
        limit = ages / count
        freed_one = False
        for block in list(pool.free):
            age = pool.searches - block.entered
            if block.whole and not block.expandable and age >= limit:
                _release(allocator, pool, block)
                reclaimed += block.size
                ages -= age
                count -= 1
                freed_one = True


def _release(allocator: PyTorchAllocator, pool: Pool, block: Block) -> None:
    pool.free.remove(block)
    allocator.device.free(block.address, block.size)
    allocator.statistics.give_segment_back(block.size, small=pool.small)
    allocator.statistics.oversize_segments.add(-allocator.is_oversize(block.size))
