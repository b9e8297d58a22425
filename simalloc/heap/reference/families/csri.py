"""CSRI malloc: bins of circular lists with rovers, and boundary tags."""

from __future__ import annotations

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.ring import Ring
from simalloc.heap.reference.space import State
from simalloc.policy.families.csri import Csri


class CsriHeap(Heap):
    """CSRI malloc (policy/families/csri.md)."""

    def __init__(self, description: Csri) -> None:
        super().__init__()
        self._word = description.word
        self._unit = description.growth_unit
        self._min = max(description.applied_overhead.minimum, description.minimum_split)
        self._tags = description.mechanism
        self._bins = [Ring() for _ in range(8)]
        # Address of the word at the heap's end that looks like the tag of an allocated block.
        self._end_tag: int | None = None

    def malloc(self, size: int) -> int:
        """Search the bins from the request's upwards, each from its rover; else raise the break."""
        self.visited = 0
        found = self._search(size)
        if found is None:
            found = self._new_memory(size)
        self._take(found, size)
        return found

    def free(self, address: int) -> None:
        """Merge with both neighbours; enter the bin before its rover, and become the rover.

        If the block merges with a free successor and stays in the successor's bin, it takes the
        successor's place in the ring instead.
        """
        self.blocks.mark(address, State.FREE)
        below, above = self.blocks.before(address), self.blocks.after(address)
        bin_of_above = None
        if self.blocks.is_free(above):
            bin_of_above = self._bin(self.block_size(above))
            bin_of_above.replace(above, address)
            self._coalesce(address)
        if self.blocks.is_free(below):
            self._bin(self.block_size(below)).remove(below, back=True)
            if bin_of_above is not None:
                bin_of_above.replace(address, below)
            self._coalesce(below)
            address = below
        ring = self._bin(self.block_size(address))
        if ring is bin_of_above:
            return
        if bin_of_above is not None:
            bin_of_above.remove(address, back=True)
        ring.insert(address)
        ring.rover = address

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Split off the excess, or add the low end of a free successor that is large enough."""
        missing = size - self.block_size(address)
        if missing <= 0:
            if -missing >= self._min:
                self.free(self._split(address, size))
            return True
        above = self.blocks.after(address)
        if not self.blocks.is_free(above) or self.block_size(above) < missing:
            return False
        self._take(above, missing)
        self.blocks.join(address)
        return True

    def listed(self) -> list[int]:
        """Return the blocks of all bins."""
        return [block for ring in self._bins for block in ring]

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        for ring in self._bins:
            for block in ring:
                assert self._bin(self.block_size(block)) is ring, "a block is in its size's bin"
        self._check_merged()

    def _bin(self, size: int) -> Ring:
        """Return the bin of a size: at most 8 words, 16, and so on to 512, or larger."""
        number, most = 0, 8 * self._word
        while size > most and number < len(self._bins) - 1:
            number, most = number + 1, 2 * most
        return self._bins[number]

    def _search(self, size: int) -> int | None:
        """Return the first block that is large enough; no rover moves.

        If a rover's block ends at the top, the search of its bin starts with the next block.
        """
        for ring in self._bins[self._bins.index(self._bin(size)) :]:
            if ring.rover is None:
                continue
            start = ring.rover
            if start + self.block_size(start) == self._top:
                start = ring.after(start)
            for block in ring.around(start):
                self.visited += 1
                if self.block_size(block) >= size:
                    return block
        return None

    @property
    def _top(self) -> int:
        """End of the memory from which blocks are cut."""
        return self.brk if self._end_tag is None else self._end_tag

    def _take(self, block: int, size: int) -> None:
        """Allocate the low end. The remainder keeps its place, or enters its bin before the rover.

        A remainder that enters another bin does not become the rover.
        """
        ring = self._bin(self.block_size(block))
        left = self.block_size(block) - size
        if left < self._min:
            ring.remove(block, back=True)
        else:
            rest = self._split(block, size)
            if self._bin(left) is ring:
                ring.replace(block, rest)
            else:
                ring.remove(block, back=True)
                self._bin(left).insert(rest)
        self.blocks.mark(block, State.ALLOCATED)

    def _new_memory(self, size: int) -> int:
        """Raise the break by whole units, and free the new memory; return its block."""
        tags = 3 * self._word if self._tags else 0
        size = ((size + tags) // self._unit + 1) * self._unit
        new = self._grow(size)
        if self._tags:
            if self._end_tag is None:
                self.blocks.mark(new, State.TABLE)
                new = self.blocks.cut(new, 2 * self._word)
            else:
                self.blocks.join(self._end_tag)
                new = self._end_tag
            self._end_tag = self.blocks.cut(new, self.brk - self._word - new)
            self.blocks.mark(self._end_tag, State.TABLE)
        self.free(new)
        below = self.blocks.before(self._top)
        assert below is not None
        return below
