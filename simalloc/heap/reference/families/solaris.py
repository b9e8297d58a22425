"""The malloc of Solaris' libc (simalloc/policy/families/solaris.md)."""

from __future__ import annotations

from collections import deque

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.by_size import BlocksBySize
from simalloc.heap.reference.parts.cells import Cells
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State
from simalloc.policy.families.solaris import Solaris


class SolarisHeap(Heap):
    """A ring of waiting frees, exact lists of small cells, best fit, and a bottom block."""

    def __init__(self, description: Solaris) -> None:
        super().__init__()
        unit = 2 * description.word
        self._unit = unit
        overhead = description.applied_overhead
        self._tags = overhead.header + overhead.footer
        self._table = unit if description.mechanism else 0
        self._min = 6 * unit if description.mechanism else 1
        self._small_up_to = 4 * unit
        self._batch = 8 * unit
        self._growth = description.growth_unit
        self._ring = description.ring
        self._waiting: deque[int] = deque()
        self._last_freed: int | None = None
        self._cells = Cells(self.blocks)
        self._tree = BlocksBySize(newest_first=True)
        self._bottom: int | None = None

    def rounded(self, size: int) -> int:
        """Return the block size for a request: a cell's size if it is small."""
        if not self._is_small(size):
            return size
        return round_up(size - self._tags, self._unit) + self._tags

    def malloc(self, size: int) -> int:
        """Use the block freed last, or else a cell, the best fit or the bottom block."""
        size = self.rounded(size)
        self.visited = 0
        found = self._use_last_freed(size)
        if found is not None:
            return found
        self._free_waiting()
        if self._is_small(size):
            return self._cell(size)
        return self._ordinary(size)

    def free(self, address: int) -> None:
        """Let the block wait in the ring; a full ring first frees its oldest block."""
        if len(self._waiting) == self._ring:
            self._really_free(self._waiting.popleft())
        self.blocks.mark(address, State.CACHED)
        self._waiting.append(address)
        self._last_freed = address

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Join a whole free successor, grow at the end of the heap, or cut off the remainder."""
        self._free_waiting()
        size = self.rounded(size)
        if size == self.block_size(address):
            return True
        if self._is_small(size) or address in self._cells:
            return False
        if size > self.block_size(address):
            after = self.blocks.after(address)
            if self.blocks.is_free(after):
                self._leave(after)
                self.blocks.mark(after, State.ALLOCATED)
                self.blocks.join(address)
            if size > self.block_size(address) and self.blocks.after(address) is None:
                self._extend(address, size)
        if size > self.block_size(address):
            return False
        self._cut(address, size)
        return True

    def listed(self) -> list[int]:
        """Return the blocks in the tree and the bottom block."""
        return [*self._tree, *([] if self._bottom is None else [self._bottom])]

    def cached(self) -> list[int]:
        """Return the blocks that wait in the ring, and the cells."""
        return [*self._waiting, *self._cells.free_cells()]

    def _use_last_freed(self, size: int) -> int | None:
        """Return the block freed last if it has this size, or its low end if both are large."""
        last = self._last_freed
        if last is None:
            return None
        self.visited += 1
        have = self.block_size(last)
        if have != size and (self._is_small(size) or have < size):
            return None
        self._waiting.pop()
        self._last_freed = None
        self.blocks.mark(last, State.ALLOCATED)
        self._cut(last, size)
        return last

    def _free_waiting(self) -> None:
        """Free the waiting blocks, the newest first."""
        while self._waiting:
            self._really_free(self._waiting.pop())
        self._last_freed = None

    def _really_free(self, address: int) -> None:
        """Put a cell into its list; merge any other block with its free neighbours."""
        if self._is_small(self.block_size(address)) and self._cells.free(address):
            return
        address = self._merge_freed(address, self._leave)
        if self.blocks.after(address) is None:
            self._bottom = address
        else:
            self._tree.enter(address, self.block_size(address))

    def _cell(self, size: int) -> int:
        """Return a cell, the one freed last first; an empty list gets a new batch."""
        if not self._cells.has(size):
            cells = self._batch * size
            batch = self._ordinary(cells + self._table)
            if self._table:
                self.blocks.mark(batch, State.TABLE)
                batch = self.blocks.cut(batch, self._table)
            self._cells.add_batch(batch, size, cells)
        self.visited += 1
        return self._cells.take(size)

    def _ordinary(self, size: int) -> int:
        """Return the best fit, or the low end of the bottom block, which grows if necessary."""
        found = self._tree.first(size)
        if found is None:
            found = self._bottom
            if found is None or self.block_size(found) < size:
                found = self._grow_bottom(size)
        self.visited += 1
        self._leave(found)
        self.blocks.mark(found, State.ALLOCATED)
        self._cut(found, size)
        return found

    def _cut(self, address: int, size: int) -> None:
        """Free the part beyond `size` immediately, if it is large enough for a block."""
        if self.block_size(address) - size >= self._min:
            self._really_free(self._split(address, size))

    def _grow_bottom(self, size: int) -> int:
        """Raise the break; return the bottom block."""
        if not self.brk and self._table:
            new = self._grow(round_up(size + self._table, self._growth))
            self.blocks.mark(new, State.TABLE)
            new = self.blocks.cut(new, self._table)
        else:
            have = 0 if self._bottom is None else self.block_size(self._bottom) - self._table
            new = self._grow(round_up(size - have, self._growth))
        self.blocks.mark(new, State.FREE)
        if self._bottom is None:
            self._bottom = new
        else:
            self._coalesce(self._bottom)
        return self._bottom

    def _extend(self, address: int, size: int) -> None:
        """Extend an allocated block at the end of the heap."""
        have = self.block_size(address) - self._table
        self._grow(round_up(size - have, self._growth))
        self.blocks.join(address)

    def _leave(self, address: int) -> None:
        if address == self._bottom:
            self._bottom = None
        else:
            self._tree.leave(address)

    def _is_small(self, size: int) -> bool:
        return size - self._tags <= self._small_up_to
