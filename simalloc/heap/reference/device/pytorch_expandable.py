"""PyTorch's expandable segments: ranges of addresses, of which pages are mapped and unmapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.heap.reference.device.blocks import Block
from simalloc.heap.reference.device.memory import GRANULE, round_up

if TYPE_CHECKING:
    from simalloc.heap.reference.device.pytorch import Pool, PyTorchAllocator


def reach(block: Block) -> int:
    """Return the size that a free block can grow to without moving."""
    behind = block.next
    return block.size + (behind.size if behind is not None and not behind.mapped else 0)


def grow(allocator: PyTorchAllocator, pool: Pool, stream: int, size: int) -> Block | None:
    """Return a free block of at least `size`, made by mapping pages, which is in no pool.

    None if the device refuses a page, and what was mapped before stays; or if not even a new range
    is long enough.
    """
    block = _start(allocator, pool, stream, size)
    if block is None:
        return None
    if not block.mapped and not _map(allocator, pool, block, min(block.size, size)):
        return None
    while block.size < size:
        behind = block.next
        assert behind is not None, "the start was chosen so that there is room"
        if not _map(allocator, pool, behind, min(size - block.size, behind.size)):
            return None
        block = behind  # which has taken in the block before it
    pool.free.remove(block)
    return block


def unmap(allocator: PyTorchAllocator, pool: Pool, block: Block) -> None:
    """Unmap the pages that lie wholly inside a free block; they are counted from the range on."""
    assert block.origin is not None
    page, first = page_size(allocator, pool), block.origin
    low = first + round_up(block.address - first, page)
    high = first + (block.address - first + block.size) // page * page
    if low >= high:
        return
    pool.free.remove(block)
    if block.address + block.size > high:
        pool.put(block.cut(high - block.address))
    if block.address < low:
        inside = block.cut(low - block.address)
        pool.put(block)
        block = inside
    block.mapped = False
    allocator.device.unmap_pages(low, high - low)
    allocator.statistics.reserved.change(low - high, small=pool.small)
    allocator.merge(pool, block)
    if not block.whole:
        pool.unmapped.add(block)


def page_size(allocator: PyTorchAllocator, pool: Pool) -> int:
    """Return the size of a page."""
    return GRANULE if pool.small else allocator.rules.large_segment


def _start(allocator: PyTorchAllocator, pool: Pool, stream: int, size: int) -> Block | None:
    """Return the first block from which free and unmapped ones reach far enough.

    None if a new range is too short too: it is given up at once, and its addresses are lost.
    """
    at = pool.unmapped.bisect_key_left((stream, 0))
    while at < len(pool.unmapped) and pool.unmapped[at].stream == stream:
        block: Block = pool.unmapped[at]
        if block.previous is not None and not block.previous.in_use:
            block = block.previous
        if _has_room(block, size):
            return block
        at += 1
    block = _new_range(allocator, pool, stream)
    if block.size < size:
        return None
    pool.unmapped.add(block)
    return block


def _has_room(block: Block | None, size: int) -> bool:
    while size > 0:
        if block is None or block.in_use:
            return False
        size -= block.size
        block = block.next
    return True


def _new_range(allocator: PyTorchAllocator, pool: Pool, stream: int) -> Block:
    """Return a new range of addresses, none of which is mapped."""
    page = page_size(allocator, pool)
    size = round_up(allocator.rules.range, page)
    address = allocator.device.reserve(size)
    return Block(address, size, stream, mapped=False, origin=address)


def _map(allocator: PyTorchAllocator, pool: Pool, block: Block, size: int) -> bool:
    """Map whole pages from the beginning of an unmapped block on; False if they are refused."""
    size = round_up(size, page_size(allocator, pool))
    if not allocator.device.map_pages(block.address, size):
        return False
    pool.unmapped.remove(block)
    if block.size > size:
        pool.unmapped.add(block.cut(size))
    block.mapped = True
    allocator.statistics.reserved.change(size, small=pool.small)
    allocator.merge(pool, block)
    pool.put(block)
    return True
