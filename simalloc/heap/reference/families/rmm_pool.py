"""The pool of the RAPIDS Memory Manager (rmm/mr/pool_memory_resource)."""

from __future__ import annotations

from typing import Final

from simalloc.heap.reference.families.device.device import DeviceHeap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.policy.device import RmmPool

UNIT: Final = 256


class RmmPoolHeap(DeviceHeap):
    """Best fit in a list for each stream; only a pool with a maximum returns memory upstream."""

    def __init__(self, description: RmmPool) -> None:
        super().__init__(description.available)
        self._maximum = description.maximum
        self._pool = self.add_pool()
        if description.initial:
            self._expand(round_up(description.initial, UNIT), 0, 0)

    def allocate(self, size: int) -> int | None:
        """Return the best fit of the stream, of other streams, of merged lists, or new memory."""
        rounded, stream = round_up(size, UNIT), self.request.stream
        block = self.take_best(self._pool, stream, rounded)
        if block is None:
            block = self._of_others(stream, rounded)
        if block is None and self._extend(rounded, stream):
            block = self.take_best(self._pool, stream, rounded)
        if block is None:
            return None
        if self.block_size(block) > rounded:
            self.split(block, rounded)
        self.of[block].stream = stream
        return self.hand_out(block, size)

    def _of_others(self, stream: int, size: int) -> int | None:
        """Search each other stream's list, then move the lists into the stream's, one by one."""
        others = sorted({self.of[block].stream for block in self._pool.free} - {stream})
        for other in others:
            block = self.take_best(self._pool, other, size)
            if block is not None:
                return block
        for other in others:
            while (moved := self.take_best(self._pool, other, 0)) is not None:
                self.of[moved].stream = stream
                merged, _ = self.merge(moved)
                self.put(merged)
            block = self.take_best(self._pool, stream, size)
            if block is not None:
                return block
        return None

    def _extend(self, size: int, stream: int) -> bool:
        """Double the pool or, below a maximum, take half of the remainder; at least `size`."""
        wanted = max(size, self.blocks.mapped)
        if self._maximum:
            self._reclaim(size)
            left = round_up(self._maximum - self.blocks.mapped, UNIT)
            if size > left:
                return False
            wanted = max(size, left // 2)
        return self._expand(wanted, size, stream)

    def _reclaim(self, size: int) -> None:
        """Return entirely free segments to the system until a request fits below the maximum."""
        if size > self._maximum:
            return
        for block in sorted(self.whole_blocks(self._pool)):
            if self.blocks.mapped + size <= self._maximum:
                return
            self.take(block)
            self.give_segment_back(block)

    def _expand(self, wanted: int, size: int, stream: int) -> bool:
        """Take new memory; each time the device refuses, halve the size, down to `size`."""
        while (address := self.take_segment(self._pool, stream, wanted)) is None:
            if wanted == size:
                return False
            wanted = max(size, wanted // 2)
        self.put(address)
        return True
