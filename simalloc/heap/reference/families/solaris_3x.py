"""The malloc of Solaris' -lmalloc: next fit over an unsorted queue, and holding blocks of cells."""

from __future__ import annotations

from dataclasses import dataclass, field

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.parts.ring import Ring
from simalloc.heap.reference.space import State
from simalloc.policy.families.solaris_3x import Solaris3x


@dataclass(eq=False)
class HoldingBlock:
    """A block of cells of one size; `freed` is taken from its end, then `uncut`."""

    cell: int
    uncut: int | None
    freed: list[int] = field(default_factory=list)


class Solaris3xHeap(Heap):
    """Solaris' -lmalloc (policy/families/solaris_3x.md)."""

    def __init__(self, description: Solaris3x) -> None:
        super().__init__()
        overhead = description.applied_overhead
        self._header = overhead.header
        self._min = max(overhead.minimum, description.minimum_split)
        self._grain = 2 * description.word
        self._largest_cell = 6 * self._grain
        self._cells = description.cells
        self._unit = description.growth
        self._word = description.word
        self._tables = description.mechanism
        self._started = False
        self._queue = Ring()
        # Holding blocks by cell size, and the holding block of each cell in use.
        self._holders: dict[int, list[HoldingBlock]] = {}
        self._holder_of: dict[int, HoldingBlock] = {}
        # Header at the heap's end, which resembles the header of an allocated block.
        self._end: int | None = None

    def malloc(self, size: int) -> int:
        """Take a cell for a small request, an ordinary block for a larger request."""
        self.visited = 0
        if size - self._header > self._largest_cell:
            return self._ordinary(size)
        if self._tables and not self._started:
            self._started = True
            queues = self._ordinary(round_up(7 * self._word + self._header, self._grain))
            self.blocks.mark(queues, State.TABLE)
        return self._allocate_cell(self.rounded(size))

    def free(self, address: int) -> None:
        """Return a cell to its holding block; put an ordinary block at the head of the queue."""
        holder = self._holder_of.pop(address, None)
        if holder is not None:
            self.blocks.mark(address, State.CACHED)
            holder.freed.append(address)
            holders = self._holders[holder.cell]
            holders.remove(holder)
            holders.insert(0, holder)
            return
        self.blocks.mark(address, State.FREE)
        self._push(address)
        self._absorb(address)

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Absorb the free blocks that follow, then split; a cell always moves."""
        if address in self._holder_of:
            return False
        self._absorb(address)
        left = self.block_size(address) - size
        if left < 0:
            return False
        self._split_off(address, size)
        return True

    def rounded(self, size: int) -> int:
        """Return the cell size for a small request, or the size of a larger request."""
        if size - self._header > self._largest_cell:
            return size
        return round_up(size - self._header, self._grain) + self._header

    def listed(self) -> list[int]:
        """Return the queue."""
        return list(self._queue)

    def cached(self) -> list[int]:
        """Return the free cells; the uncut cells of a holding block count as one."""
        holders = [holder for holders in self._holders.values() for holder in holders]
        uncut = [holder.uncut for holder in holders if holder.uncut is not None]
        return [*uncut, *(cell for holder in holders for cell in holder.freed)]

    def _allocate_cell(self, size: int) -> int:
        """Take the cell freed last from the first holding block, or make a holding block."""
        holders = self._holders.setdefault(size, [])
        if holders and self._has_room(holders[0]):
            self.visited += 1
        else:
            holders.insert(0, self._new_holder(size))
        holder = holders[0]
        cell = holder.freed.pop() if holder.freed else self._cut_cell(holder)
        if not self._has_room(holder):
            holders.append(holders.pop(0))
        self.blocks.mark(cell, State.ALLOCATED)
        self._holder_of[cell] = holder
        return cell

    def _new_holder(self, size: int) -> HoldingBlock:
        """Make a holding block: an ordinary block with a header and cells of this size."""
        kept = self._header + 6 * self._word if self._tables else 0
        cells = self._ordinary(round_up(kept + self._cells * size, self._grain if kept else 1))
        if kept:
            self.blocks.mark(cells, State.TABLE)
            cells = self.blocks.cut(cells, kept)
        self.blocks.mark(cells, State.CACHED)
        return HoldingBlock(size, cells)

    def _cut_cell(self, holder: HoldingBlock) -> int:
        """Cut off the lowest unused cell; a rest smaller than a cell stays with it."""
        cell = holder.uncut
        assert cell is not None
        whole = self.block_size(cell) < 2 * holder.cell
        holder.uncut = None if whole else self.blocks.cut(cell, holder.cell)
        return cell

    @staticmethod
    def _has_room(holder: HoldingBlock) -> bool:
        return bool(holder.freed) or holder.uncut is not None

    def _ordinary(self, size: int) -> int:
        """Take the first block from the queue's head on that is large enough after absorbing.

        The next block becomes the head; the block's remainder is placed in front of it.
        """
        block = self._search(size)
        if block is None:
            block = self._new_memory(size)
        else:
            self._queue.rover = block
            self._queue.remove(block)
        self.blocks.mark(block, State.ALLOCATED)
        self._split_off(block, size)
        return block

    def _search(self, size: int) -> int | None:
        """Return the first block that is large enough; each visited block absorbs."""
        if self._queue.rover is None:
            return None
        block = self._queue.rover
        while True:
            self.visited += 1
            self._absorb(block)
            if self.block_size(block) >= size:
                return block
            block = self._queue.after(block)
            if block == self._queue.rover:
                return None

    def _absorb(self, block: int) -> None:
        """Merge a block with the free blocks that follow it, which leave the queue."""
        above = self.blocks.after(block)
        while self.blocks.is_free(above):
            self._queue.remove(above)
            self._coalesce(block)
            above = self.blocks.after(block)

    def _push(self, block: int) -> None:
        """Put a free block at the head of the queue."""
        self._queue.insert(block)
        self._queue.rover = block

    def _split_off(self, block: int, size: int) -> None:
        """Cut off the excess, if it can be a block; the excess becomes the queue's head."""
        if self.block_size(block) - size >= self._min:
            rest = self._split(block, size)
            self.blocks.mark(rest, State.FREE)
            self._push(rest)

    def _new_memory(self, size: int) -> int:
        """Raise the break; return a block of at least `size` at the end of memory."""
        end = self.brk if self._end is None else self._end
        below = self.blocks.before(end)
        header = 4 * self._word if self._tables else 0
        if self._tables and self._end is None:
            size += header
        if self.blocks.is_free(below):
            size -= self.block_size(below)
        else:
            below = None
        new = self._grow(round_up(size, self._unit))
        if below is not None:
            self._queue.remove(below)
        if self._tables:
            if self._end is not None:
                self.blocks.join(self._end)
                new = self._end
            self._end = self.blocks.cut(new, self.brk - header - new)
            self.blocks.mark(self._end, State.TABLE)
            self.blocks.mark(new, State.ALLOCATED)
        if below is None:
            return new
        self.blocks.mark(new, State.FREE)
        self._coalesce(below)
        return below
