"""Every request is a call to the device: the baseline for caching allocators."""

from __future__ import annotations

from simalloc.heap.reference.families.device.device import DeviceHeap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.policy.device import NoCache
from simalloc.policy.device.base import GRANULE


class NoCacheHeap(DeviceHeap):
    """A segment for each block."""

    def __init__(self, description: NoCache) -> None:
        super().__init__(description.available)
        self._pool = self.add_pool()

    def allocate(self, size: int) -> int | None:
        """Return new memory."""
        address = self.take_segment(self._pool, 0, round_up(size, GRANULE))
        return None if address is None else self.hand_out(address, size)

    def release(self, address: int) -> None:
        """Return the memory to the device."""
        self.take_back(address)
        self.give_segment_back(address)
