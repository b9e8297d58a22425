"""Doug Lea's malloc 2.8.6 (simalloc/policy/families/dlmalloc.md)."""

from __future__ import annotations

from collections import defaultdict

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.by_size import BlocksBySize
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State
from simalloc.policy.families.dlmalloc import Dlmalloc


class DlmallocHeap(Heap):
    """Lists of small sizes, best fit in trees for larger sizes, a designated victim and a top."""

    def __init__(self, description: Dlmalloc) -> None:
        super().__init__()
        overhead = description.applied_overhead
        word = description.word
        mechanism = description.mechanism
        self._min = overhead.minimum
        self._next_list = 8 if self._min > 8 else 0
        self._foot = 10 * word if mechanism else 0
        self._pad = self._foot + 2 * word if mechanism else 0
        self._top_must_have = 1 if mechanism else 0
        self._map_extra = 8 * word - 1 if mechanism else 0
        self._small_up_to = 248 if word == 4 else 240
        self._listed_below = 256
        self._growth = description.growth
        self._map = description.map_from
        self._trim = description.trim
        self._small: defaultdict[int, dict[int, None]] = defaultdict(dict)
        self._large = BlocksBySize()
        self._victim: int | None = None
        self._top: int | None = None
        self._mapped: set[int] = set()

    def malloc(self, size: int) -> int:
        """Try steps 1 to 6 until one of them finds a block."""
        self.visited = 0
        search = self._search_small if size <= self._small_up_to else self._search_large
        found = search(size)
        if found is None:
            found = self._use_victim(size)
        if found is None:
            found = self._use_top(size)
        return self._ask_system(size) if found is None else found

    def free(self, address: int) -> None:
        """Merge the block with its free neighbours; lower the break if the top is large."""
        if address in self._mapped:
            self._mapped.remove(address)
            self.blocks.unmap_segment(address)
        elif self._merge(address) == self._top:
            self._lower_top()

    def reallocate(self, address: int, size: int) -> int:
        """Stay if possible; a mapped segment is remapped unless the request is small."""
        if address in self._mapped and size > self._small_up_to:
            return self._remap(address, size)
        return super().reallocate(address, size)

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Grow into the top, the victim or a free successor; merge the remainder."""
        if address in self._mapped:
            return False
        after = self.blocks.after(address)
        if self.block_size(address) < size:
            if not self.blocks.is_free(after):
                return False
            missing = size - self.block_size(address)
            spare = self._top_must_have if after == self._top else 0
            if self.block_size(after) < missing + spare:
                return False
            self._take(after, missing)
            self.blocks.join(address)
        if self.block_size(address) - size >= self._min:
            self._merge(self._split(address, size))
        return True

    def listed(self) -> list[int]:
        """Return the blocks in lists and trees, the victim and the top."""
        small = [address for blocks in self._small.values() for address in blocks]
        special = [address for address in (self._victim, self._top) if address is not None]
        return [*small, *self._large, *special]

    def _search_small(self, size: int) -> int | None:
        """Take step 1: a block of the size or of the next size, or a best fit.

        The best fit is used only if the victim is too small.
        """
        for have in (size, size + self._next_list):
            if self._small[have]:
                self.visited += 1
                return self._take_whole(next(reversed(self._small[have])))
        if self._victim is not None and self.block_size(self._victim) >= size:
            return None
        larger = [have for have, blocks in self._small.items() if blocks and have > size]
        if larger:
            found = next(reversed(self._small[min(larger)]))
        else:
            best = self._large.first(size)
            if best is None:
                return None
            found = best
        self.visited += 1
        rest = self._cut_free(found, size)
        if rest is not None:
            self._replace_victim(rest)
        return self._allocate(found)

    def _search_large(self, size: int) -> int | None:
        """Take step 2: the best fit in the trees, unless the victim fits equally or better."""
        found = self._large.first(size)
        if found is None:
            return None
        self.visited += 1
        victim = self._victim
        if victim is not None and size <= self.block_size(victim) <= self.block_size(found):
            return None
        rest = self._cut_free(found, size)
        if rest is not None:
            self._enter(rest)
        return self._allocate(found)

    def _use_victim(self, size: int) -> int | None:
        """Take step 3: the low end of the victim; the remainder is the new victim."""
        found = self._victim
        if found is None:
            return None
        self.visited += 1
        if self.block_size(found) < size:
            return None
        self._victim = self._cut_free(found, size)
        return self._allocate(found)

    def _use_top(self, size: int) -> int | None:
        """Take step 4: the low end of the top."""
        if self._top is None:
            return None
        self.visited += 1
        if self.block_size(self._top) < size + self._top_must_have:
            return None
        found = self._top
        self._take(found, size)
        return found

    def _ask_system(self, size: int) -> int:
        """Take steps 5 and 6: map a segment for a large request, or raise the break for the top."""
        if self._map and size >= self._map and self._top is not None:
            address = self._map_block(size)
            self.growths += 1
            return address
        have = 0 if self._top is None else self.block_size(self._top)
        new = self._grow(round_up(size + self._pad - have, self._growth))
        if self._foot and new == 0:
            self.blocks.mark(new, State.TABLE)
            new = self.blocks.cut(new, self._foot)
        self.blocks.mark(new, State.FREE)
        if self._top is None:
            self._top = new
        else:
            self._coalesce(self._top)
        found = self._top
        self._take(found, size)
        return found

    def _map_block(self, size: int) -> int:
        address = self.blocks.map_segment(self._segment_for(size))
        self._mapped.add(address)
        return address

    def _segment_for(self, size: int) -> int:
        return round_up(size + self._map_extra, self._growth)

    def _remap(self, address: int, size: int) -> int:
        """Map a segment again if it is too small or far too large."""
        over = self.block_size(address) - size - self._map_extra
        if 0 <= over <= 2 * self._growth:
            return address
        self.blocks.take_room(self._segment_for(size) - self.block_size(address))
        self._mapped.remove(address)
        self.blocks.unmap_segment(address)
        return self._map_block(size)

    def _merge(self, address: int) -> int:
        """Free a block and merge it with its free neighbours: into the top, the victim or a list.

        Returns the address of the merged block.
        """
        is_victim = self._victim in self.blocks.free_neighbours(address)
        address = self._merge_freed(address, self._leave)
        if self.blocks.after(address) is None:
            self._top = address
        elif is_victim:
            self._victim = address
        else:
            self._enter(address)
        return address

    def _lower_top(self) -> None:
        """Return whole pages of a large top to the system."""
        assert self._top is not None, "a block has just become part of it"
        size = self.block_size(self._top)
        if self._trim and size > self._trim:
            pages = round_up(size - self._foot, self._growth) - self._growth
            if pages > 0:
                self._lower(pages)

    def _replace_victim(self, address: int) -> None:
        """Make a remainder the victim; the previous victim enters its list."""
        if self._victim is not None:
            self._enter(self._victim)
        self._victim = address

    def _take(self, address: int, size: int) -> None:
        """Allocate the low end of a free block; a remainder of the top or victim keeps its role."""
        was_top, was_victim = address == self._top, address == self._victim
        self._leave(address)
        least = 1 if was_top else self._min
        rest = None
        if self.block_size(address) - size >= least:
            rest = self._split(address, size)
        self._allocate(address)
        if rest is None:
            return
        if was_top:
            self._top = rest
        elif was_victim:
            self._victim = rest
        else:
            self._enter(rest)

    def _take_whole(self, address: int) -> int:
        self._leave(address)
        return self._allocate(address)

    def _cut_free(self, address: int, size: int) -> int | None:
        """Remove a free block from its index or role; return the part beyond `size`."""
        self._leave(address)
        if self.block_size(address) - size < self._min:
            return None
        return self._split(address, size)

    def _enter(self, address: int) -> None:
        size = self.block_size(address)
        if size < self._listed_below:
            self._small[size][address] = None
        else:
            self._large.enter(address, size)

    def _leave(self, address: int) -> None:
        size = self.block_size(address)
        if address == self._top:
            self._top = None
        elif address == self._victim:
            self._victim = None
        elif address in self._large:
            self._large.leave(address)
        else:
            del self._small[size][address]

    def _allocate(self, address: int) -> int:
        self.blocks.mark(address, State.ALLOCATED)
        return address
