"""PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp): allocation and free."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final

from sortedcontainers import SortedKeyList

from simalloc.heap.reference.device.allocator import Allocator
from simalloc.heap.reference.device.blocks import Block
from simalloc.heap.reference.device.memory import GRANULE, round_up
from simalloc.heap.reference.device.pytorch_expandable import grow, reach
from simalloc.heap.reference.device.pytorch_giving_back import (
    collect_garbage,
    release_all,
    release_oversize,
)

if TYPE_CHECKING:
    from simalloc.policy.device import PyTorch

UNIT: Final = 512
SMALL: Final = 1 << 20
"""Requests up to this are served from the small pool, and no larger rest stays with a large one."""
MIDDLE: Final = 10 << 20
"""Requests from this on get a segment of their own size."""


@dataclass(eq=False)
class Pool:
    """Free blocks by stream, size and address; and addresses without memory, by address."""

    small: bool
    free: SortedKeyList = field(
        default_factory=lambda: SortedKeyList(key=lambda b: (b.stream, b.size, b.address))
    )
    unmapped: SortedKeyList = field(
        default_factory=lambda: SortedKeyList(key=lambda b: (b.stream, b.address))
    )
    searches: int = 0
    """Counted while garbage is collected."""

    def put(self, block: Block) -> None:
        """Keep a free block."""
        block.entered = self.searches
        self.free.add(block)


class PyTorchAllocator(Allocator):
    """The allocator of one device."""

    def __init__(self, description: PyTorch) -> None:
        super().__init__(description.available)
        self.rules = description.rules
        self.pools: dict[tuple[int, bool], Pool] = {}
        """By the private pool's number (0: none), and whether they are for small requests."""
        self._pool_of: dict[Block, Pool] = {}
        self._waiting: list[Block] = []

    def malloc(self, size: int, stream: int, pool: int) -> Block | None:
        """Return a block: from the pool, from the device, or after giving back."""
        self._free_waiting()
        requested, size = size, self.rounded(size)
        of = self.pool(pool, small=size <= SMALL)
        block = self._search(of, stream, size)
        if block is None:
            block = self._from_device(of, stream, size)
        if block is None:
            self.statistics.ooms += 1
            return None
        self._split(of, block, size)
        block.in_use, block.requested = True, requested
        self._pool_of[block] = of
        self.statistics.hand_out(block.size, requested, small=of.small)
        self.statistics.oversize_allocations.add(self.is_oversize(block.size))
        return block

    def free(self, block: Block) -> None:
        """Take a block back; at once, or when the streams that use it are done."""
        self.statistics.allocated.change(-block.size, small=self._pool_of[block].small)
        self.statistics.oversize_allocations.add(-self.is_oversize(block.size))
        if block.users:
            self._waiting.append(block)
        else:
            self._free_now(block)

    def use(self, block: Block, stream: int) -> None:
        """Note that another stream uses the block (record_stream)."""
        if stream != block.stream:
            block.users.add(stream)

    def empty(self) -> None:
        """Give back all that can be (empty_cache)."""
        self._free_waiting()
        release_all(self)

    def free_blocks(self) -> list[Block]:
        """Return the free blocks of all pools; those without memory are none."""
        return [block for pool in self.pools.values() for block in pool.free]

    def pool(self, number: int, *, small: bool) -> Pool:
        """Return one of the pools."""
        return self.pools.setdefault((number, small), Pool(small))

    def rounded(self, size: int) -> int:
        """Return the size of the block for a request."""
        if size < UNIT:
            return UNIT
        interval = min(max(size.bit_length() - 21, 0), 15)
        divisions = self.rules.divisions[interval]
        if divisions > 1 and size > UNIT * divisions:
            return round_up(size, (1 << (size.bit_length() - 1)) // divisions)
        return round_up(size, UNIT)

    def is_oversize(self, size: int) -> bool:
        """Return whether a block or segment is of those that are never split."""
        return size >= (self.rules.max_split or inf)

    def segment_size(self, size: int) -> int:
        """Return what is asked of the device for a block."""
        if size <= SMALL:
            return GRANULE
        return self.rules.large_segment if size < MIDDLE else round_up(size, GRANULE)

    def _search(self, pool: Pool, stream: int, size: int) -> Block | None:
        """Take the best fit among the stream's free blocks out of the pool, if it may be taken."""
        rules = self.rules
        pool.searches += rules.collected_above is not None
        at = pool.free.bisect_key_left((stream, size, 0))
        if at == len(pool.free) or pool.free[at].stream != stream:
            return None
        if pool.free[at].expandable:
            while (
                at + 1 < len(pool.free)
                and pool.free[at + 1].stream == stream
                and reach(pool.free[at + 1]) < reach(pool.free[at])
            ):
                at += 1
        block: Block = pool.free[at]
        if rules.max_split is not None:
            if size < rules.max_split <= block.size:
                return None
            if size >= rules.max_split and block.size >= size + rules.non_split_rounding:
                return None
        del pool.free[at]
        return block

    def _from_device(self, pool: Pool, stream: int, size: int) -> Block | None:
        """Ask the device for memory, and give back more and more until it has some."""
        collect_garbage(self)
        block = self._new_segment(pool, stream, size)
        if block is None and release_oversize(self, pool, stream, size):
            block = self._new_segment(pool, stream, size)
        if block is None:
            self.statistics.retries += 1
            self._free_waiting()
            release_all(self)
            block = self._new_segment(pool, stream, size)
        return block

    def _new_segment(self, pool: Pool, stream: int, size: int) -> Block | None:
        """Return a free block of new memory, which is in no pool; None if the device refuses."""
        segment = self.segment_size(size)
        allowed = self.rules.allowed
        if allowed is not None and self.statistics.reserved.now + segment > allowed:
            return None
        if self.rules.expandable:
            return grow(self, pool, stream, size)
        address = self.device.allocate(segment)
        if address is None:
            return None
        self.statistics.take_segment(segment, small=pool.small)
        self.statistics.oversize_segments.add(self.is_oversize(segment))
        return Block(address, segment, stream)

    def _split(self, pool: Pool, block: Block, size: int) -> None:
        """Put what is left of a block back, if it is worth it."""
        rest = block.size - size
        was_whole = block.whole
        if pool.small or self.rules.expandable:
            splits = rest >= UNIT
        else:
            splits = size < (self.rules.max_split or inf) and rest > SMALL
        if splits:
            pool.put(block.cut(size))
            self.statistics.splits += 1
        if not block.expandable:
            if not was_whole:
                self.statistics.inactive_split.change(-block.size, small=pool.small)
            elif splits:
                self.statistics.inactive_split.change(rest, small=pool.small)

    def _free_waiting(self) -> None:
        """Free the blocks that waited for other streams, which are done by now."""
        waiting, self._waiting = self._waiting, []
        for block in waiting:
            block.users.clear()
            self._free_now(block)

    def _free_now(self, block: Block) -> None:
        """Merge a block with its free neighbours, and put it into its pool."""
        pool = self._pool_of.pop(block)
        self.statistics.active.change(-block.size, small=pool.small)
        self.statistics.requested.change(-block.requested, small=pool.small)
        block.in_use, block.requested = False, 0
        swallowed = self.merge(pool, block)
        pool.put(block)
        if not block.expandable:
            now_split = 0 if block.whole else block.size
            self.statistics.inactive_split.change(now_split - swallowed, small=pool.small)

    def merge(self, pool: Pool, block: Block) -> int:
        """Merge a block with the neighbours that are free and mapped alike; return their bytes."""
        swallowed = 0
        for neighbour in (block.previous, block.next):
            if neighbour is not None and not neighbour.in_use and neighbour.mapped == block.mapped:
                (pool.free if block.mapped else pool.unmapped).remove(neighbour)
                block.absorb(neighbour)
                swallowed += neighbour.size
                self.statistics.coalescings += 1
        return swallowed
