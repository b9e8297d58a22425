"""Doug Lea's malloc 2.6.6 (simalloc/policy/families/lea.md)."""

from __future__ import annotations

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.bin_number import LEA_BINS, bin_number
from simalloc.heap.reference.parts.by_size import BlocksBySize
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State
from simalloc.policy.families.lea import Lea

_MAX_MAPPED = 64
"""Maximum number of separately mapped blocks at a time."""


class LeaHeap(Heap):
    """Bins by size, a last remainder that is tried before a best fit, and a top (2.6.6, 2000)."""

    def __init__(self, description: Lea) -> None:
        super().__init__()
        self._min = description.applied_overhead.minimum
        self._keep = self._min if description.mechanism else 0
        self._map_header = description.word if description.mechanism else 0
        self._growth = description.growth
        self._trim = description.trim
        self._map = description.map_from
        self._bins = BlocksBySize()
        self._last_remainder: int | None = None
        self._top: int | None = None
        self._mapped: set[int] = set()

    def malloc(self, size: int) -> int:
        """Try steps 1 to 6 until one of them finds a block."""
        self.visited = 0
        for step in (self._exact_fit, self._use_last_remainder, self._best_fit, self._use_top):
            found = step(size)
            if found is not None:
                return found
        if self._map and size >= self._map and len(self._mapped) < _MAX_MAPPED:
            return self._map_block(size)
        return self._take(self._grow_top(size), size)

    def free(self, address: int) -> None:
        """Merge the block with its free neighbours: into the top, the last remainder or a bin."""
        if address in self._mapped:
            self._mapped.remove(address)
            self.blocks.unmap_segment(address)
            return
        self.blocks.mark(address, State.FREE)
        after, before = self.blocks.after(address), self.blocks.before(address)
        into_top = after is not None and after == self._top
        stays_remainder = False
        if self.blocks.is_free(before):
            stays_remainder = not into_top and before == self._last_remainder
            self._leave(before)
            self._coalesce(before)
            address = before
        if self.blocks.is_free(after):
            stays_remainder |= after == self._last_remainder
            self._leave(after)
            self._coalesce(address)
        if into_top or self.blocks.after(address) is None:
            self._top = address
            if into_top:
                self._lower_top()
        elif stays_remainder:
            self._last_remainder = address
        else:
            self._bins.enter(address, self.block_size(address))

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Stay if the block and its free successor are large enough."""
        if address in self._mapped:
            return self.block_size(address) >= size + self._map_header
        if self.block_size(address) >= size:
            self._shrink(address, size)
            return True
        after = self._free_after(address)
        if after is None:
            return False
        spare = self._keep if after == self._top else 0
        if self.block_size(address) + self.block_size(after) < size + spare:
            return False
        self._absorb(address, after)
        self._shrink(address, size)
        return True

    def reallocate(self, address: int, size: int) -> int:
        """Stay, or move down into a free predecessor, or move to a new block."""
        if self.reallocate_in_place(address, size):
            return address
        if address not in self._mapped:
            low = self._move_down(address, size)
            if low is not None:
                return low
        new = self.front.malloc(size)
        if new == self.blocks.after(address):
            self.blocks.join(address)
            self._shrink(address, size)
            return address
        self.front.free(address)
        return new

    def listed(self) -> list[int]:
        """Return the binned blocks, the last remainder and the top."""
        special = (self._last_remainder, self._top)
        return [*self._bins, *(address for address in special if address is not None)]

    def _exact_fit(self, size: int) -> int | None:
        """Take step 1: the oldest of the smallest blocks that fit, if it fits almost exactly.

        A block fits almost exactly if no block could remain, and its size exceeds a request below
        504 bytes by at most 8 bytes, or shares the bin of a larger request.
        """
        found = self._bins.first(size)
        if found is None:
            return None
        have = self.block_size(found)
        shares = bin_number(LEA_BINS, have) == bin_number(LEA_BINS, size)
        if not (have <= size + 8 if size < 504 else shares) or have - size >= self._min:
            return None
        self.visited += 1
        return self._take(found, size)

    def _use_last_remainder(self, size: int) -> int | None:
        """Take step 2: use the last remainder if it is large enough; otherwise bin it."""
        remainder = self._last_remainder
        if remainder is None:
            return None
        self.visited += 1
        if self.block_size(remainder) >= size:
            return self._take(remainder, size)
        self._last_remainder = None
        self._bins.enter(remainder, self.block_size(remainder))
        return None

    def _best_fit(self, size: int) -> int | None:
        """Take step 3: the oldest of the smallest binned blocks that fit."""
        found = self._bins.first(size)
        if found is None:
            return None
        self.visited += 1
        return self._take(found, size)

    def _use_top(self, size: int) -> int | None:
        """Take step 4: the low end of the top, if the minimum of the top remains."""
        if self._top is None:
            return None
        self.visited += 1
        if self.block_size(self._top) < size + self._keep:
            return None
        return self._take(self._top, size)

    def _map_block(self, size: int) -> int:
        """Take step 5 for a large request: map a segment."""
        address = self.blocks.map_segment(round_up(size + self._map_header, self._growth))
        self.growths += 1
        self._mapped.add(address)
        return address

    def _grow_top(self, size: int) -> int:
        """Take step 6: raise the break by the whole request; return the top."""
        new = self._grow(round_up(size + self._keep, self._growth))
        self.blocks.mark(new, State.FREE)
        if self._top is None:
            self._top = new
        else:
            self._coalesce(self._top)
        return self._top

    def _lower_top(self) -> None:
        """Return whole pages of a large top to the system, but never all of it."""
        assert self._top is not None, "a block has just become part of it"
        size = self.block_size(self._top)
        if self._trim and size >= self._trim:
            pages = round_up(size - self._keep, self._growth) - self._growth
            if pages > 0:
                self._lower(pages)

    def _move_down(self, address: int, size: int) -> int | None:
        """Move into the free predecessor, with the free successor if needed."""
        before, after = self.blocks.before(address), self._free_after(address)
        if not self.blocks.is_free(before):
            return None
        room = self.block_size(before) + self.block_size(address)
        if after is not None:
            spare = self._keep if after == self._top else 0
            if room + self.block_size(after) >= size + spare:
                self._absorb(address, after)
                room = size
        if room < size:
            return None
        self._leave(before)
        self.blocks.mark(before, State.ALLOCATED)
        self.blocks.join(before)
        self._shrink(before, size)
        return before

    def _absorb(self, address: int, after: int) -> None:
        """Join an allocated block and its free successor."""
        self._leave(after)
        self.blocks.mark(after, State.ALLOCATED)
        self.blocks.join(address)

    def _shrink(self, address: int, size: int) -> None:
        """Free the part of a block beyond `size`, if it is large enough for a block."""
        if self.block_size(address) - size >= self._min:
            self.free(self._split(address, size))

    def _take(self, address: int, size: int) -> int:
        """Allocate the low end of a free block; the rest is the top or the last remainder."""
        was_top = address == self._top
        self._leave(address)
        if self.block_size(address) - size >= self._min:
            rest = self._split(address, size)
            if was_top:
                self._top = rest
            else:
                self._last_remainder = rest
        self.blocks.mark(address, State.ALLOCATED)
        return address

    def _leave(self, address: int) -> None:
        """Remove a free block from its bin or role."""
        if address == self._top:
            self._top = None
        elif address == self._last_remainder:
            self._last_remainder = None
        else:
            self._bins.leave(address)

    def _free_after(self, address: int) -> int | None:
        after = self.blocks.after(address)
        return after if self.blocks.is_free(after) else None
