"""Two buddy systems side by side; each growth belongs to one of them."""

from __future__ import annotations

from sortedcontainers import SortedDict

from simalloc.heap.reference.parts.buddy import BuddyHeap
from simalloc.policy.families.double_buddy import DoubleBuddy


class DoubleBuddyHeap(BuddyHeap):
    """Sizes of 16 * 2**N and of 24 * 2**N by default.

    Johnstone & Wilson 1998, section 2.3.2; policy/families/double_buddy.md.
    """

    def __init__(self, description: DoubleBuddy) -> None:
        base = description.smallest
        super().__init__(description.order, base, base * 3 // 2)
        self._growth = description.growth
        self._growth_3x = description.growth_3x
        # Start and length of every growth, by address. The growths tile the heap.
        self._territories: SortedDict[int, int] = SortedDict()

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        for address, size in self.blocks.size.items():
            start, length = self._territory(address)
            assert address + size <= start + length, "a block lies within one growth"
            assert (address - start) % size == 0, "a block is aligned within its growth"
            assert (size % 3 == 0) == (length % 3 == 0), "a growth belongs to one series"

    def _buddies(self, address: int) -> list[int]:
        size = self.block_size(address)
        start, length = self._territory(address)
        if size == length:
            return []
        is_low_half = (address - start) // size % 2 == 0
        return [address + size if is_low_half else address - size]

    def _grow_for(self, size: int) -> None:
        """Raise the break by the unit or the block's size, if larger; it is one free block."""
        unit = self._growth_3x if size % 3 == 0 else self._growth
        length = max(unit, size)
        start = self._grow(length)
        self._territories[start] = length
        self.free(start)

    def _territory(self, address: int) -> tuple[int, int]:
        """Return start and length of the growth that contains a block."""
        start, length = self._territories.peekitem(self._territories.bisect_right(address) - 1)
        return int(start), int(length)
