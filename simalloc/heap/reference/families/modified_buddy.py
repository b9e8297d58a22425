"""Modified binary buddy: any two adjacent free blocks of equal size merge."""

from __future__ import annotations

from simalloc.heap.reference.parts.buddy import BuddyHeap
from simalloc.policy.families.modified_buddy import ModifiedBuddy


class ModifiedBuddyHeap(BuddyHeap):
    """Modified binary buddy (policy/families/modified_buddy.md)."""

    def __init__(self, description: ModifiedBuddy) -> None:
        super().__init__(description.order, description.smallest)
        self._growth = description.growth

    def _buddies(self, address: int) -> list[int]:
        """Return the free neighbours, the lower one first."""
        return self.blocks.free_neighbours(address)

    def _grow_for(self, size: int) -> None:
        """Raise the break by the unit or the block's size, if larger; the block does not merge."""
        self._enter(self._grow(max(size, self._growth)))
