"""The binary buddy system over one aligned space."""

from __future__ import annotations

from simalloc.heap.reference.parts.buddy import BuddyHeap
from simalloc.heap.reference.space import State
from simalloc.policy.families.binary_buddy import BinaryBuddy


class BinaryBuddyHeap(BuddyHeap):
    """Sizes of 16 * 2**N by default, at multiples of the size.

    Johnstone & Wilson 1998, section 2.3.1; policy/families/binary_buddy.md.
    """

    def __init__(self, description: BinaryBuddy) -> None:
        super().__init__(description.order, description.smallest)
        self._growth = description.growth

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        for address, size in self.blocks.size.items():
            assert address % size == 0, "a block's address is a multiple of its size"

    def _buddies(self, address: int) -> list[int]:
        return [address ^ self.block_size(address)]

    def _grow_for(self, size: int) -> None:
        """Raise the break far enough for an aligned block; free the new memory in aligned blocks.

        policy/families/binary_buddy.md: Growth.
        """
        rest: int | None = self._grow(self._new_break(size) - self.brk)
        while rest is not None:
            block, rest = rest, self._cut_aligned(rest)
            self.free(block)

    def _new_break(self, size: int) -> int:
        if size <= self._growth:
            return self.brk + self._growth
        aligned = self.brk - self.brk % size
        if aligned == self.brk or self._is_free_from(aligned):
            return aligned + size
        return aligned + 2 * size

    def _is_free_from(self, address: int) -> bool:
        """Return whether the whole heap from `address` to the break is free."""
        at: int | None = address
        while at is not None:
            if self.blocks.state.get(at) is not State.FREE:
                return False
            at = self.blocks.after(at)
        return True

    def _cut_aligned(self, address: int) -> int | None:
        """Cut new memory to the largest aligned block at its start; return the rest, or None."""
        length = self.block_size(address)
        largest = 1 << (length.bit_length() - 1)
        while address % largest:
            largest //= 2
        return self.blocks.cut(address, largest) if largest < length else None
