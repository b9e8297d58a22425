"""Quick fit over libg++'s malloc, reconstructed (simalloc/policy/families/quick_fit.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from simalloc.heap.reference.families.gxx import GxxHeap
from simalloc.heap.reference.parts.overhead import gross_size, round_up
from simalloc.heap.reference.space import State
from simalloc.policy.families.quick_fit import QuickFit


class QuickFitHeap(GxxHeap):
    """Exact lists of small cells, cut from a tail area; larger objects go to G++ (DDZ 1993)."""

    def __init__(self, description: QuickFit) -> None:
        super().__init__(description)
        self._word = description.word
        self._cell_header = (
            description.applied_overhead.header + description.applied_overhead.footer
        )
        self._up_to = description.small
        self._area = description.area
        self._large = description.large_overhead
        self._cells: defaultdict[int, list[int]] = defaultdict(list)
        self._is_cell: set[int] = set()
        self._tail: int | None = None

    def rounded(self, size: int) -> int:
        """Return the block size for a request: a cell of whole words, or G++'s block."""
        data = size - self._cell_header
        if data <= self._up_to:
            return round_up(data, self._word) + self._cell_header
        return gross_size(data, self._large)

    def malloc(self, size: int) -> int:
        """Return the cell of this size freed last, or cut one; G++ serves larger requests."""
        rounded = self.rounded(size)
        if not self._is_small(size):
            return super().malloc(rounded)
        self.visited = 0
        if self._cells[rounded]:
            self.visited += 1
            address = self._cells[rounded].pop()
        else:
            address = self._cut_tail(rounded)
        self.blocks.mark(address, State.ALLOCATED)
        return address

    def free(self, address: int) -> None:
        """Put a cell on the list of its size; pass a larger block to G++."""
        if address not in self._is_cell:
            super().free(address)
            return
        self.blocks.mark(address, State.CACHED)
        self._cells[self.block_size(address)].append(address)

    def reallocate(self, address: int, size: int) -> int:
        """Keep a cell of the same size; without cells apply G++'s rule; else move."""
        if self.reallocate_in_place(address, size):
            return address
        if address not in self._is_cell and not self._is_small(size):
            # G++'s realloc requests the block size with its tags, and its malloc adds the tags
            # again.
            size = round_up(self.rounded(size), self._alignment) + self._cell_header
        new = self.front.malloc(size)
        self.front.free(address)
        return new

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Keep a cell if the request needs its size; without cells apply G++'s rule."""
        if address in self._is_cell or self._is_small(size):
            return address in self._is_cell and self.rounded(size) == self.block_size(address)
        return super().reallocate_in_place(address, self.rounded(size))

    def cached(self) -> Iterable[int]:
        """Return the free cells, the tail of the area and the waiting blocks of G++."""
        cells = [address for blocks in self._cells.values() for address in blocks]
        return [*super().cached(), *cells, *([] if self._tail is None else [self._tail])]

    def _cut_tail(self, size: int) -> int:
        """Cut a cell from the tail of the area; the remainder of an old area is wasted."""
        tail, self._tail = self._tail, None
        if tail is None or self.block_size(tail) < size:
            if tail is not None:
                self.blocks.mark(tail, State.WASTE)
            tail = self._new_area(size)
        if self.block_size(tail) > size:
            self._tail = self._split(tail, size)
        self._is_cell.add(tail)
        return tail

    def _new_area(self, cell: int) -> int:
        """Allocate an area for at least one cell from G++; its tags become a table."""
        area = super().malloc(gross_size(max(self._area, cell), self._large))
        self.blocks.mark(area, State.CACHED)
        if not self._ends:
            return area
        tail = self.blocks.cut(area, self._ends)
        self.blocks.mark(area, State.TABLE)
        return tail

    def _is_small(self, size: int) -> bool:
        return size - self._cell_header <= self._up_to
