"""Memory that glibc's malloc gets from the system (simalloc/policy/families/ptmalloc.md)."""

from __future__ import annotations

from abc import abstractmethod

from simalloc.heap.reference.families.ptmalloc.arena import Arena, ArenaHeap, Arenas
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import Exhausted, State
from simalloc.policy.families.ptmalloc import HEAP, Ptmalloc

_MIN_HEAP = 32768
"""Minimum initial bytes of a heap."""

_THRESHOLDS_BELOW = 32 << 20
"""Freeing a mapped block of at least this size changes no threshold."""


class PtmallocMemory(Heap):
    """The break, the heaps of arenas, and directly mapped blocks.

    `_word` is 0 without mechanism, so that no header is written or reserved.
    """

    def __init__(self, description: Ptmalloc) -> None:
        super().__init__()
        values = description.resolved
        overhead = description.applied_overhead
        word = description.word if description.mechanism else 0
        self._description = description
        self._word = word
        self._min = overhead.minimum
        self._keep = overhead.minimum if word else 0
        self._granule = overhead.alignment
        self._page = description.growth
        self._top_pad = values["top_pad"]
        self._trim_threshold = values["trim_threshold"]
        self._mmap_threshold = values["mmap_threshold"]
        self._mmap_max = values["mmap_max"]
        self._adjusts = bool(values["adjusts"])
        # Bytes of a heap's header, alone and with an arena behind it.
        self._heap_info = round_up(6 * word, 16)
        fields = 261 * word + 24 if description.since(43) else 271 * word + 32
        self._arena_info = round_up(6 * word + fields, 16) if word else 0
        self._arena_first = 6 * word + fields + 16 if word else 0
        self._heap_max = HEAP - HEAP % self._page
        self._mapped_rest = 2 * word if description.since(43) else 0
        self._arenas = Arenas(description)
        self._owner: dict[int, Arena] = {}
        # Segment of each mapped block in use or in a cache.
        self._mapped: dict[int, int] = {}

    @abstractmethod
    def _free_own(self, address: int) -> None:
        """Free an allocated block that malloc itself no longer needs."""

    def _arena_of(self, address: int) -> Arena:
        """Return the arena of a block."""
        return self._owner.get(address - address % HEAP, self._arenas.main)

    # Written bytes.

    def _write_head(self, address: int) -> None:
        """Write the size of a block."""
        self.touch(address + self._word, self._word)

    def _write_links(self, address: int) -> None:
        """Write the list links of a free block, and its size behind the block."""
        size = self.block_size(address)
        small = self._arenas.main.is_small(size)
        self.touch(address + self._word, (3 if small else 5) * self._word)
        self.touch(address + size, self._word)

    def _write_object(self, address: int, size: int) -> None:
        """Write an object in a block of `size` bytes: all bytes but one word."""
        self.touch(address + 2 * self._word, size - self._word)

    def _split(self, address: int, size: int) -> int:
        """Cut a block in two and write both sizes; return the address of the high one."""
        high = super()._split(address, size)
        self._write_head(address)
        self._write_head(high)
        return high

    # More memory.

    def _grow_main(self, size: int) -> bool:
        """Extend the main arena's top until it has `size` bytes; return False if refused."""
        top = self._arenas.main.top
        have = 0 if top is None else self.block_size(top)
        pages = round_up(size + self._top_pad + self._keep - have, self._page)
        if not self.blocks.has_room(pages):
            return False
        self._raise_break(pages)
        return True

    def _raise_break(self, pages: int) -> None:
        """Add bytes to the top of the main arena, or make them its top."""
        new = self._grow(pages)
        self._arenas.main.system += pages
        self._add_to_top(self._arenas.main, new)

    def _make_arena(self, arena: Arena, size: int) -> None:
        """Map the first heap of a new arena, if possible with space for `size` bytes."""
        sizes = (size + self._arena_first, self._arena_first)
        if not any(self._map_heap(arena, each, self._arena_info) for each in sizes):
            raise Exhausted

    def _map_heap(self, arena: Arena, size: int, head: int) -> bool:
        """Map a heap with `size` bytes and the pad. The top begins `head` bytes after its start.

        Returns False if a heap cannot be so large or if the capacity does not allow it.
        """
        if size > self._heap_max:
            return False
        begun = round_up(max(size + self._top_pad, _MIN_HEAP), self._page)
        begun = min(begun, self._heap_max)
        if not self.blocks.has_room(begun):
            return False
        base = self.blocks.reserve_segment(HEAP, HEAP)
        self.growths += 1
        if begun < HEAP:
            self.blocks.cut(base, begun)
        self.blocks.mark(base, State.ALLOCATED)
        arena.heaps.append(ArenaHeap(base, begun, begun))
        arena.system += begun
        self._owner[base] = arena
        arena.top = base
        if head:
            arena.top = self.blocks.cut(base, head)
            self.blocks.mark(base, State.TABLE)
            self.touch(base, head)
        self.blocks.mark(arena.top, State.FREE)
        self._write_head(arena.top)
        return True

    def _grow_heap(self, arena: Arena, size: int) -> bool:
        """Extend the top until it has `size` bytes; return whether heap and capacity allow it."""
        heap = arena.heaps[-1]
        have = 0 if arena.top is None else self.block_size(arena.top)
        pages = round_up(size + self._keep - have, self._page)
        if heap.size + pages > self._heap_max or not self.blocks.has_room(pages):
            return False
        new = heap.end
        if self.block_size(new) > pages:
            self.blocks.cut(new, pages)
        self.growths += 1
        heap.size += pages
        heap.ever = max(heap.ever, heap.size)
        arena.system += pages
        self._add_to_top(arena, new)
        return True

    def _add_heap(self, arena: Arena, size: int) -> bool:
        """Map another heap, whose top has `size` bytes, and close the previous heap.

        Returns False if a heap cannot be so large.
        """
        old = arena.top
        if not self._map_heap(arena, size + self._keep + self._heap_info, self._heap_info):
            return False
        if old is not None:
            self._end_heap(old)
        return True

    def _end_heap(self, old: int) -> None:
        """Free the old top, except the fence at its end, which is never free."""
        size = self.block_size(old)
        usable = (size - self._keep) // self._granule * self._granule if self._word else size
        self.touch(old + size - 3 * self._word, 3 * self._word)
        if usable < self._min:
            self.blocks.mark(old, State.WASTE)
            self._write_head(old)
            return
        if usable < size:
            self.blocks.mark(self.blocks.cut(old, usable), State.WASTE)
        self.blocks.mark(old, State.ALLOCATED)
        self._free_own(old)

    def _add_to_top(self, arena: Arena, new: int) -> None:
        """Join new memory to the top, or make it the top."""
        self.blocks.mark(new, State.FREE)
        if arena.top is None:
            arena.top = new
        else:
            self._coalesce(arena.top)
        self._write_head(arena.top)

    # Returns to the system.

    def _trim(self, arena: Arena) -> None:
        """Unmap empty heaps; trim the top if it has at least `trim_threshold` bytes."""
        self._unmap_empty_heaps(arena)
        if arena.top is not None and self.block_size(arena.top) >= self._trim_threshold:
            self._lower_top(arena, self._top_pad)

    def _lower_top(self, arena: Arena, pad: int) -> None:
        """Return the whole pages of the top beyond `pad` bytes to the system."""
        if arena.top is None:
            return
        size = self.block_size(arena.top)
        pages = (size - self._keep - 1 - pad) // self._page * self._page
        if pages <= 0:
            return
        arena.system -= pages
        if arena is self._arenas.main:
            self._lower(pages)
            return
        heap = arena.heaps[-1]
        hole = self.blocks.cut(arena.top, size - pages)
        self.blocks.mark(hole, State.HOLE)
        if self.blocks.after(hole) is not None:
            self.blocks.join(hole)
        heap.size -= pages

    def _unmap_empty_heaps(self, arena: Arena) -> None:
        """Unmap final heaps that are all top, if the previous heap has enough space for a top."""
        while len(arena.heaps) > 1:
            before, heap = arena.heaps[-2:]
            if arena.top != heap.base + self._heap_info:
                return
            tail = self._tail_of(before)
            room = before.base + self._heap_max - tail
            if room < self._top_pad + self._keep + self._page:
                return
            self._unmap_heap(arena, heap)
            self._reopen(arena, before, tail)

    def _tail_of(self, heap: ArenaHeap) -> int:
        """Return the start of a heap's fence, or of the free block before the fence."""
        tail = heap.end
        last = self.blocks.ending_at(tail)
        if last is not None and self.blocks.state[last] is State.WASTE:
            tail, last = last, self.blocks.before(last)
        return last if self.blocks.is_free(last) else tail

    def _unmap_heap(self, arena: Arena, heap: ArenaHeap) -> None:
        """Unmap a heap that is all top."""
        arena.heaps.pop()
        arena.system -= heap.size
        del self._owner[heap.base]
        while self.blocks.after(heap.base) is not None:
            self.blocks.join(heap.base)
        self.blocks.unmap_segment(heap.base)
        arena.top = None

    def _reopen(self, arena: Arena, heap: ArenaHeap, tail: int) -> None:
        """Make the end of a heap, from `tail` on, the top again."""
        if tail == heap.end:
            return
        if self.blocks.is_free(tail):
            arena.leave(tail, self.block_size(tail))
        if tail + self.block_size(tail) < heap.end:
            self._coalesce(tail)
        self.blocks.mark(tail, State.FREE)
        arena.top = tail
        self._write_head(tail)

    # Directly mapped blocks.

    def _may_map(self, size: int) -> bool:
        """Return whether a request that does not fit the arena is mapped directly."""
        is_large = size >= self._mmap_threshold and len(self._mapped) < self._mmap_max
        return is_large and self.blocks.has_room(self._mapping_of(size))

    def _mapping_of(self, size: int) -> int:
        return round_up(size + self._word, self._page)

    def _map(self, size: int) -> int:
        """Map a block directly."""
        address = self.blocks.map_segment(self._mapping_of(size))
        self.growths += 1
        self._mapped[address] = address
        self.touch(address, 2 * self._word)
        return address

    def _cached_size(self, address: int) -> int:
        """Return the size of a block as caches and thresholds use it."""
        return self.block_size(address) - (self._mapped_rest if address in self._mapped else 0)

    def _unmap(self, address: int) -> None:
        """Unmap a mapped block; from now on, blocks up to its size are not mapped."""
        size = self._cached_size(address)
        self._unmap_whole(address)
        if self._adjusts and self._mmap_threshold <= size < _THRESHOLDS_BELOW:
            self._mmap_threshold = size
            self._trim_threshold = 2 * size

    def _unmap_whole(self, address: int) -> None:
        segment = self._mapped.pop(address)
        if segment < address:
            self.blocks.join(segment)
        self.blocks.unmap_segment(segment)

    def _remap(self, address: int, size: int) -> int:
        """Resize a mapped block; a changed number of pages needs a new segment."""
        front = address - self._mapped[address]
        old = front + self.block_size(address)
        pages = round_up(front + size + self._word, self._page)
        if pages == old:
            return address
        new = self.blocks.map_in_place_of(pages, old)
        self.blocks.take_pages(new, address - front, min(old, pages))
        self._unmap_whole(address)
        if front:
            self.blocks.mark(new, State.WASTE)
            new = self.blocks.cut(new, front)
            self.blocks.mark(new, State.ALLOCATED)
        self._mapped[new] = new - front
        return new
