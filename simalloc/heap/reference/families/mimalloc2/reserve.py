"""The memory that mimalloc 2 reserves at its start, its first source of segments."""

from __future__ import annotations

from simalloc.heap.reference.families.mimalloc.block_sizes import MIB
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.space import State

_PART = 32 * MIB

RESERVE_RECORD = 4096
"""Bytes of the library's record of the used parts."""


class Reserve:
    """Memory that stays committed, in parts of one segment's size."""

    def __init__(self, heap: Heap, size: int, *, record: bool) -> None:
        blocks = heap.blocks
        if record:
            note = blocks.map_segment(RESERVE_RECORD)
            blocks.mark(note, State.TABLE)
            heap.touch(note, RESERVE_RECORD)
        self.committed = size + RESERVE_RECORD * record
        self.size = size
        self.start = blocks.map_segment(size, _PART)
        blocks.mark(self.start, State.FREE)
        self._blocks = blocks
        self._free = dict.fromkeys(range(size // _PART), True)
        """By part: True if the part is free."""
        self._used: set[int] = set()
        """Parts that were used at any time."""

    def take(self, size: int) -> tuple[int, bool] | None:
        """Use the lowest free parts that hold `size` bytes.

        Returns their address and whether any of them was used before, or None.
        """
        count = -(-size // _PART)
        for index in range(len(self._free) - count + 1):
            parts = range(index, index + count)
            if not all(self._free[part] for part in parts):
                continue
            address = self.start + index * _PART
            if self._blocks.size[address] > count * _PART:
                self._blocks.cut(address, count * _PART)
            self._free.update(dict.fromkeys(parts, False))
            was_used = not self._used.isdisjoint(parts)
            self._used.update(parts)
            return address, was_used
        return None

    def give(self, address: int) -> None:
        """Free parts that have been joined into one block."""
        blocks = self._blocks
        first = (address - self.start) // _PART
        end = first + blocks.size[address] // _PART
        self._free.update(dict.fromkeys(range(first, end), True))
        blocks.mark(address, State.FREE)
        if self._free.get(end):
            blocks.join(address)
        if self._free.get(first - 1):
            while not blocks.size.get(self.start + (first - 1) * _PART):
                first -= 1
            blocks.join(self.start + (first - 1) * _PART)

    def free_runs(self) -> list[int]:
        """Return the start of each run of free parts."""
        starts = [
            part for part, free in self._free.items() if free and not self._free.get(part - 1)
        ]
        return [self.start + part * _PART for part in starts]
