"""What a replay asks of any device allocator."""

from __future__ import annotations

from abc import ABC, abstractmethod

from simalloc.heap.reference.device.blocks import Block, Statistics
from simalloc.heap.reference.device.memory import DeviceMemory


class Allocator(ABC):
    """An allocator before a device."""

    def __init__(self, capacity: int) -> None:
        self.device = DeviceMemory(capacity)
        self.statistics = Statistics()

    @abstractmethod
    def malloc(self, size: int, stream: int, pool: int) -> Block | None:
        """Return a block for a request of at least a byte; None if memory is out."""

    @abstractmethod
    def free(self, block: Block) -> None:
        """Take a block back."""

    def use(self, block: Block, stream: int) -> None:  # noqa: B027 - most take no notice
        """Note that another stream uses the block."""

    def empty(self) -> None:  # noqa: B027 - some never give back
        """Give back what is cached."""

    @abstractmethod
    def free_blocks(self) -> list[Block]:
        """Return the free blocks."""

    def check(self) -> None:
        """Assert what holds after each event."""
        free = sum(block.size for block in self.free_blocks())
        statistics = self.statistics
        assert statistics.active.now + free == statistics.reserved.now
        assert statistics.reserved.now <= self.device.taken <= self.device.capacity
        assert self._borders_are_right()

    def _borders_are_right(self) -> bool:
        return all(
            (block.next is None or block.next.address == block.address + block.size)
            and not block.in_use
            for block in self.free_blocks()
        )
