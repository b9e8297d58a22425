"""Cells: blocks of a fixed size that are cut from a batch and never merge again."""

from __future__ import annotations

from collections import defaultdict

from simalloc.heap.reference.space import Blocks, State


class Cells:
    """The free cells of each size: freed cells, the newest first, then unused cells.

    The unused part of a batch is one cached block; new cells are cut from its low end.
    """

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._freed: defaultdict[int, list[int]] = defaultdict(list)
        self._uncut: dict[int, int] = {}
        self._cells: set[int] = set()

    def add_batch(self, address: int, size: int, total: int) -> None:
        """Use an allocated block of at least `total` bytes as the batch for cells of this size."""
        self._blocks.mark(address, State.CACHED)
        if self._blocks.size[address] > total:
            self._blocks.mark(self._blocks.cut(address, total), State.WASTE)
        self._uncut[size] = address

    def free_cells(self) -> list[int]:
        """Return the addresses of the freed cells and of the uncut parts of the batches."""
        freed = [address for cells in self._freed.values() for address in cells]
        return [*freed, *self._uncut.values()]

    def has(self, size: int) -> bool:
        """Return whether a free cell of this size exists."""
        return bool(self._freed[size]) or size in self._uncut

    def take(self, size: int) -> int:
        """Return a free cell of this size, now allocated."""
        if self._freed[size]:
            address = self._freed[size].pop()
        else:
            address = self._uncut.pop(size)
            if self._blocks.size[address] > size:
                self._uncut[size] = self._blocks.cut(address, size)
        self._blocks.mark(address, State.ALLOCATED)
        self._cells.add(address)
        return address

    def __contains__(self, address: int) -> bool:
        """Return whether a block is a cell in use."""
        return address in self._cells

    def free(self, address: int) -> bool:
        """Free a cell; return False if the block is not a cell."""
        if address not in self:
            return False
        self._cells.remove(address)
        self._blocks.mark(address, State.CACHED)
        self._freed[self._blocks.size[address]].append(address)
        return True
