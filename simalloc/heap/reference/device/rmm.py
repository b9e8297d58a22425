"""The pool of the RAPIDS Memory Manager (rmm/mr/pool_memory_resource)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sortedcontainers import SortedKeyList

from simalloc.heap.reference.device.allocator import Allocator
from simalloc.heap.reference.device.blocks import Block
from simalloc.heap.reference.device.memory import round_up

if TYPE_CHECKING:
    from simalloc.policy.device import RmmPool

UNIT: Final = 256


class RmmPoolAllocator(Allocator):
    """Best fit in a list for each stream; upstream memory goes back only below a maximum."""

    def __init__(self, description: RmmPool) -> None:
        super().__init__(description.available)
        self._maximum = description.maximum
        self._lists: dict[int, SortedKeyList] = {}
        if description.initial:
            self._expand(round_up(description.initial, UNIT), 0, 0)

    def malloc(self, size: int, stream: int, pool: int) -> Block | None:  # noqa: ARG002 - has none
        """Return the best fit of the stream, of the others, of all merged, or new memory."""
        rounded = round_up(size, UNIT)
        block = self._best_fit(stream, rounded) or self._of_others(stream, rounded)
        if block is None and self._grow(rounded, stream):
            block = self._best_fit(stream, rounded)
        if block is None:
            self.statistics.ooms += 1
            return None
        if block.size > rounded:
            self._list(block.stream).add(block.cut(rounded))
            self.statistics.splits += 1
        block.stream, block.in_use, block.requested = stream, True, size
        self.statistics.hand_out(block.size, size)
        return block

    def free(self, block: Block) -> None:
        """Put a block into its stream's list, merged with the neighbours that lie in it."""
        self.statistics.take_back(block.size, block.requested)
        block.in_use, block.requested = False, 0
        self._insert(block)

    def free_blocks(self) -> list[Block]:
        """Return the blocks of all lists."""
        return [block for blocks in self._lists.values() for block in blocks]

    def _list(self, stream: int) -> SortedKeyList:
        if stream not in self._lists:
            self._lists[stream] = SortedKeyList(key=lambda block: (block.size, block.address))
        return self._lists[stream]

    def _insert(self, block: Block) -> None:
        for neighbour in (block.previous, block.next):
            if neighbour is not None and not neighbour.in_use and neighbour.stream == block.stream:
                self._list(block.stream).remove(neighbour)
                block.absorb(neighbour)
                self.statistics.coalescings += 1
        self._list(block.stream).add(block)

    def _best_fit(self, stream: int, size: int) -> Block | None:
        blocks = self._list(stream)
        at = blocks.bisect_key_left((size, 0))
        return blocks.pop(at) if at < len(blocks) else None

    def _of_others(self, stream: int, size: int) -> Block | None:
        """Search the other streams' lists as they are, and then merged into the own one by one."""
        others = [other for other in sorted(self._lists) if other != stream]
        for other in others:
            block = self._best_fit(other, size)
            if block is not None:
                return block
        for other in others:
            for block in sorted(self._lists.pop(other), key=lambda block: block.address):
                block.stream = stream
                self._insert(block)
            block = self._best_fit(stream, size)
            if block is not None:
                return block
        return None

    def _grow(self, size: int, stream: int) -> bool:
        """Take as much as there is, or half of what is left below a maximum."""
        wanted = max(size, self.statistics.reserved.now)
        if self._maximum:
            self._reclaim(size)
            left = round_up(self._maximum - self.statistics.reserved.now, UNIT)
            if size > left:
                return False
            wanted = max(size, left // 2)
        return self._expand(wanted, size, stream)

    def _reclaim(self, size: int) -> None:
        """Give back what is wholly free until a request has room below the maximum, if it can."""
        if size > self._maximum:
            return
        for block in sorted(self.free_blocks(), key=lambda block: block.address):
            if self.statistics.reserved.now + size <= self._maximum:
                return
            if block.whole:
                self._list(block.stream).remove(block)
                self.device.free(block.address, block.size)
                self.statistics.give_segment_back(block.size)

    def _expand(self, wanted: int, size: int, stream: int) -> bool:
        """Take new memory, half of it each time the device refuses, but no less than `size`."""
        while (address := self.device.allocate(wanted)) is None:
            if wanted == size:
                return False
            wanted = max(size, wanted // 2)
        self._list(stream).add(Block(address, wanted, stream))
        self.statistics.take_segment(wanted)
        return True
