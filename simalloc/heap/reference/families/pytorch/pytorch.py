"""PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp): allocation and free."""

from __future__ import annotations

from math import inf
from typing import Final

from simalloc.heap.reference.families.device.device import DeviceHeap, Pool
from simalloc.heap.reference.families.pytorch.expandable import grow, reach
from simalloc.heap.reference.families.pytorch.release import (
    collect_garbage,
    release_all,
    release_oversize,
)
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State
from simalloc.policy.device import PyTorch
from simalloc.policy.device.base import GRANULE

UNIT: Final = 512
SMALL: Final = 1 << 20
"""Maximum request of the small pool; a rest of at most this size stays with a large block."""
MIDDLE: Final = 10 << 20
"""Minimum request that gets a segment of exactly its size."""


class PyTorchHeap(DeviceHeap):
    """The allocator of one device."""

    def __init__(self, description: PyTorch) -> None:
        super().__init__(description.available)
        self.rules = description.rules
        self._pools: dict[tuple[int, bool], Pool] = {}
        self._waiting: list[int] = []

    def allocate(self, size: int) -> int | None:
        """Return a block: from the pool, from the device, or after returning cached memory."""
        self._free_waiting()
        stream, rounded = self.request.stream, self.rounded(size)
        pool = self.pool(self.request.pool, small=rounded <= SMALL)
        block = self._search(pool, stream, rounded)
        if block is None:
            block = self._from_device(pool, stream, rounded)
        if block is None:
            return None
        self._split_off(pool, block, rounded)
        self.statistics.oversize_allocations.add(self.is_oversize(self.block_size(block)))
        return self.hand_out(block, size)

    def release(self, address: int) -> None:
        """Free a block, at once or when the streams that use it have finished."""
        size, block = self.block_size(address), self.of[address]
        self.blocks.mark(address, State.WASTE)
        self.statistics.allocated.change(-size, small=block.pool.small)
        self.statistics.oversize_allocations.add(-self.is_oversize(size))
        if block.users:
            self._waiting.append(address)
        else:
            self._free_now(address)

    def use(self, address: int) -> None:
        """Record that another stream uses the block (record_stream)."""
        if self.request.stream != self.of[address].stream:
            self.of[address].users.add(self.request.stream)

    def give_back(self) -> None:
        """Return all unused memory to the device (empty_cache)."""
        self._free_waiting()
        release_all(self)

    def pool(self, number: int, *, small: bool) -> Pool:
        """Return the pool of a private number (0: not private), for small or large requests."""
        if (number, small) not in self._pools:
            self._pools[number, small] = self.add_pool(small=small)
        return self._pools[number, small]

    def rounded(self, size: int) -> int:
        """Return the block size for a request."""
        if size < UNIT:
            return UNIT
        interval = min(max(size.bit_length() - 21, 0), 15)
        divisions = self.rules.divisions[interval]
        if divisions > 1 and size > UNIT * divisions:
            return round_up(size, (1 << (size.bit_length() - 1)) // divisions)
        return round_up(size, UNIT)

    def is_oversize(self, size: int) -> bool:
        """Return whether a block or segment of `size` is never split."""
        return size >= (self.rules.max_split or inf)

    def segment_size(self, size: int) -> int:
        """Return the bytes to request from the device for a block of `size`."""
        if size <= SMALL:
            return GRANULE
        return self.rules.large_segment if size < MIDDLE else round_up(size, GRANULE)

    def _search(self, pool: Pool, stream: int, size: int) -> int | None:
        """Take the best fit among the stream's free blocks, if the rules allow its use."""
        rules = self.rules
        pool.searches += rules.collected_above is not None
        block = self.best_fit(pool, stream, size)
        if block is None:
            return None
        if rules.expandable:
            block = self._least_reach(pool, block)
        found = self.block_size(block)
        if rules.max_split is not None:
            if size < rules.max_split <= found:
                return None
            if size >= rules.max_split and found >= size + rules.non_split_rounding:
                return None
        self.take(block)
        return block

    def _least_reach(self, pool: Pool, block: int) -> int:
        """Return the first block from `block` on that reaches at most as far as the next one."""
        at = pool.free.index(block)
        while (
            at + 1 < len(pool.free)
            and self.of[pool.free[at + 1]].stream == self.of[block].stream
            and reach(self, pool.free[at + 1]) < reach(self, pool.free[at])
        ):
            at += 1
        found: int = pool.free[at]
        return found

    def _from_device(self, pool: Pool, stream: int, size: int) -> int | None:
        """Request memory from the device; if refused, return cached memory and try again."""
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

    def _new_segment(self, pool: Pool, stream: int, size: int) -> int | None:
        """Return a free block of new memory, in no pool, or None if the device refuses."""
        segment = self.segment_size(size)
        allowed = self.rules.allowed
        if allowed is not None and self.blocks.mapped + segment > allowed:
            return None
        if self.rules.expandable:
            return grow(self, pool, stream, size)
        address = self.take_segment(pool, stream, segment)
        if address is not None:
            self.statistics.oversize_segments.add(self.is_oversize(segment))
        return address

    def _split_off(self, pool: Pool, block: int, size: int) -> None:
        """Split a block and list the rest, if the rest is large enough."""
        has, was_whole = self.block_size(block), self.blocks.is_segment(block)
        if pool.small or self.rules.expandable:
            splits = has - size >= UNIT
        else:
            splits = size < (self.rules.max_split or inf) and has - size > SMALL
        if splits:
            self.split(block, size)
        if self.rules.expandable:
            return
        if not was_whole:
            now = self.block_size(block)
            self.statistics.inactive_split.change(-now, small=pool.small)
        elif splits:
            self.statistics.inactive_split.change(has - size, small=pool.small)

    def _free_waiting(self) -> None:
        """Free the blocks that waited for other streams, which have finished by now."""
        waiting, self._waiting = self._waiting, []
        for address in waiting:
            self.of[address].users.clear()
            self._free_now(address)

    def _free_now(self, address: int) -> None:
        """Merge a block with its free neighbours, and put it into its pool."""
        block, statistics = self.of[address], self.statistics
        statistics.active.change(-self.block_size(address), small=block.pool.small)
        statistics.requested.change(-block.requested, small=block.pool.small)
        merged, swallowed = self.merge(address)
        self.put(merged)
        if not self.rules.expandable:
            split = 0 if self.blocks.is_segment(merged) else self.block_size(merged)
            statistics.inactive_split.change(split - swallowed, small=block.pool.small)
