"""Every request is a call to the device: what a cache is measured against."""

from __future__ import annotations

from simalloc.heap.reference.device.allocator import Allocator
from simalloc.heap.reference.device.blocks import Block
from simalloc.heap.reference.device.memory import GRANULE, round_up


class NoCacheAllocator(Allocator):
    """A segment for each block."""

    def malloc(self, size: int, stream: int, pool: int) -> Block | None:  # noqa: ARG002 - has none
        """Return new memory."""
        rounded = round_up(size, GRANULE)
        address = self.device.allocate(rounded)
        if address is None:
            self.statistics.ooms += 1
            return None
        block = Block(address, rounded, in_use=True, requested=size)
        self.statistics.hand_out(rounded, size)
        self.statistics.take_segment(rounded)
        return block

    def free(self, block: Block) -> None:
        """Give the memory back."""
        self.statistics.take_back(block.size, block.requested)
        self.statistics.give_segment_back(block.size)
        self.device.free(block.address, block.size)

    def free_blocks(self) -> list[Block]:
        """Return nothing: none is kept."""
        return []
