"""Memory for jemalloc's metadata."""

from __future__ import annotations

from typing import Final

from simalloc.heap.reference.families.jemalloc.size_classes import (
    HUGE_PAGE,
    PAGE,
    class_above,
    class_below,
)
from simalloc.heap.reference.families.jemalloc.space import JemallocSpace
from simalloc.heap.reference.parts.overhead import round_up

_HEADER: Final = 144
"""Bytes at the start of a block of metadata."""
QUANTUM: Final = 16
"""Unit of metadata in bytes."""


class _Block:
    """A block of metadata, which is filled from its start."""

    def __init__(self, address: int, size: int) -> None:
        self.address = address
        self.size = size
        self.used = 0


class Metadata:
    """The tables of one arena: blocks of growing size that are filled and never freed."""

    def __init__(self, space: JemallocSpace, first: int) -> None:
        """Map the first block, in which `first` bytes are in use."""
        self._space = space
        self._blocks: list[_Block] = []
        self.allocated = first
        block = self._add(HUGE_PAGE)
        block.used = first
        self.start = block.address

    def extend_first(self, size: int, lost: int) -> None:
        """Take `size` bytes of the first block behind its used bytes; `lost` more are wasted."""
        self._blocks[0].used += size + lost
        self.allocated += size

    @property
    def mapped(self) -> int:
        """Bytes of all blocks."""
        return sum(block.size for block in self._blocks)

    @property
    def resident(self) -> int:
        """Bytes of all pages that contain used metadata."""
        return sum(round_up(block.used, PAGE) for block in self._blocks)

    def allocate(self, size: int, alignment: int) -> int:
        """Take bytes from the block with the smallest sufficient rest; return their address."""
        wanted = class_above(round_up(size, alignment) + alignment - QUANTUM, QUANTUM)
        fitting = [block for block in self._blocks if self._room(block) >= wanted]
        if fitting:
            block = min(fitting, key=self._room)
        else:
            least = round_up(_HEADER, alignment) + round_up(size, alignment)
            following = class_above(self._blocks[-1].size + 1, PAGE)
            block = self._add(round_up(max(class_above(least, PAGE), following), HUGE_PAGE))
            block.used = _HEADER
            self._space.touch(block.address, _HEADER)
            self.allocated += _HEADER
        start = round_up(block.used, alignment)
        block.used = start + size
        self.allocated += size
        return block.address + start

    def _room(self, block: _Block) -> int:
        """Return the size class of the unused rest of a block."""
        return class_below(block.size - block.used, QUANTUM)

    def _add(self, size: int) -> _Block:
        block = _Block(self._space.map_table(size), size)
        self._blocks.append(block)
        return block


class NoMetadata(Metadata):
    """Metadata that takes no memory, for placement alone."""

    def __init__(self) -> None:
        self._blocks = []
        self.allocated = 0

    def allocate(self, size: int, alignment: int) -> int:  # noqa: ARG002
        """Return 0 and take no memory."""
        return 0
