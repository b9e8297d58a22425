"""The device: bytes that are granted while they last, and addresses that are used once."""

from __future__ import annotations

from typing import Final

GRANULE: Final = 2 << 20
"""What a device grants is a multiple of this, and begins at one."""


def round_up(size: int, unit: int) -> int:
    """Return the next multiple of `unit`."""
    return -(-size // unit) * unit


class DeviceMemory:
    """A device of some capacity, and the calls that were made to it."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.taken = 0
        self.allocations = 0
        """Calls that took memory: of segments, or of pages whatever their number."""
        self.frees = 0
        self.calls: list[tuple[int, int, int]] = []
        """The event that each call served, the address, and the bytes, below 0 if given back."""
        self.event = 0
        self._next = 0

    def allocate(self, size: int) -> int | None:
        """Return the address of new memory, None if there is no room."""
        if not self.map_pages(self._next, round_up(size, GRANULE)):
            return None
        return self.reserve(size)

    def free(self, address: int, size: int) -> None:
        """Take memory of that size back."""
        self.unmap_pages(address, round_up(size, GRANULE))

    def reserve(self, size: int) -> int:
        """Return the next address for a range of that size, which takes no memory by itself."""
        address = self._next
        self._next += round_up(size, GRANULE)
        return address

    def map_pages(self, address: int, size: int) -> bool:
        """Take memory for pages; False if there is not room for all."""
        if self.taken + size > self.capacity:
            return False
        self.taken += size
        self.allocations += 1
        self.calls.append((self.event, address, size))
        return True

    def unmap_pages(self, address: int, size: int) -> None:
        """Give the memory of pages back."""
        self.taken -= size
        self.frees += 1
        self.calls.append((self.event, address, -size))
