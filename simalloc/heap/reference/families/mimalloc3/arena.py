"""Sources of mimalloc 3's pages: arenas of slices, and direct mappings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simalloc.heap.reference.families.mimalloc.block_sizes import MIB, SLICE, round_up, system_size
from simalloc.heap.reference.families.mimalloc3.bitmap import CHUNK, SliceMap, rotated
from simalloc.heap.reference.families.mimalloc3.page import Page
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.space import Refused, State, needed_by_allocator
from simalloc.policy.families.mimalloc import Mimalloc

MAPPING_ALIGNMENT = 256 * MIB
"""Alignment of mappings. Each part of this size begins with the headers of its pages."""

HEADER_SLICES = 8
"""Number of slices with page headers at the start of each `MAPPING_ALIGNMENT` bytes."""

_LARGEST_IN_ARENA = (MAPPING_ALIGNMENT - 512 * 1024) // SLICE
"""Maximum number of slices that are searched for in an arena."""

_CHUNK_SIZE = CHUNK * SLICE

_BINS_WITH_MAP = 65
"""Number of bitmaps in an arena that have a header and a bit for each slice."""

_LARGEST_ARENA = 16 * 1024 * MIB

_PAGE_MAP_RANGE = 512 * MIB
"""Bytes of addresses covered by one part of the page map, which has a word per slice."""

_MAX_REGISTERED = 64
"""Maximum number of slices of a page that the page map contains."""

_COMMITTED_AT_START = 2 * MIB + 256 * 1024
"""Bytes of the page map's root."""


class Mapping:
    """Memory mapped at once: its address in the model, and its address in the real process."""

    def __init__(self, start: int, absolute: int, size: int) -> None:
        self.start = start
        self.absolute = absolute
        self.size = size


class Arena(Mapping):
    """A mapping that pages share, with maps of its free slices and of slices to purge."""

    def __init__(self, start: int, absolute: int, size: int) -> None:
        super().__init__(start, absolute, size)
        self.slices = SliceMap(size // _CHUNK_SIZE)
        self.committed = 0
        """Bitmap of slices that were used at any time."""
        self.purge = 0
        """Bitmap of slices scheduled for purging."""
        self.expire = 0
        """Time of the next purge in milliseconds, or 0 if none is scheduled."""
        self.abandoned: dict[int, dict[int, Page]] = {}
        """Marked abandoned pages with free blocks, by block size and by first slice."""

    def index(self, address: int) -> int:
        """Return the index of the slice that contains an address."""
        return (address - self.start) // SLICE

    def free_runs(self) -> Iterator[int]:
        """Yield the start addresses of the runs of free slices."""
        for index in range(self.size // SLICE):
            if self.slices.is_free(index) and not self.slices.is_free(index - 1):
                yield self.start + index * SLICE


class Run(NamedTuple):
    """Slices allocated for a page: mapping, address in the model, True if never used before."""

    mapping: Mapping
    start: int
    is_new: bool


class Arenas:
    """All memory that a heap has mapped.

    `committed` is the allocator's own count of committed bytes. Without mechanism, the heap has no
    headers, bitmaps or page map, and only the sizes of runs decide their placement.
    """

    def __init__(self, heap: Heap, description: Mimalloc) -> None:
        self.arenas: list[Arena] = []
        self.committed = _COMMITTED_AT_START
        self._heap = heap
        self._options = description
        self._mechanism = description.mechanism
        self._hint = description.base - description.hint_delta
        self._page_map: dict[int, int] = {}
        self._expire = 0  # time before which no purge is due; 0 if none is scheduled

    def take(self, slices: int, sequence: int) -> Run:
        """Return a run of slices."""
        if slices > _LARGEST_IN_ARENA or self._options.disallow_arena_alloc:
            return self.map_page(slices)
        return (
            self._take_in_arenas(slices, sequence)
            or self._take_in_new_arena(slices, sequence)
            or self.map_page(slices)
        )

    def map_page(self, slices: int, alignment: int = 0) -> Run:
        """Map slices directly, at a multiple of `alignment` if given."""
        front = (alignment or SLICE) if self._mechanism else 0
        size = system_size(slices * SLICE + front, SLICE)
        mapping = Mapping(*self._map(size, max(MAPPING_ALIGNMENT, alignment)), size)
        self.committed += slices * SLICE
        blocks, start = self._heap.blocks, mapping.start + front
        blocks.mark(mapping.start, State.WASTE)
        if front:
            blocks.cut(mapping.start, front)
            blocks.mark(mapping.start, State.TABLE)
        if size > front + slices * SLICE:
            blocks.cut(start, slices * SLICE)
        return Run(mapping, start, is_new=True)

    def give(self, page: Page, now: int) -> None:
        """Free the slices of a page, whose blocks must have been joined."""
        mapping, blocks = page.mapping, self._heap.blocks
        if not isinstance(mapping, Arena):
            self._unmap(page)
            return
        index = mapping.index(page.start)
        self._mark_for_purge(mapping, index, page.slices, now)
        blocks.mark(page.start, State.FREE)
        if mapping.slices.is_free(index + page.slices):
            blocks.join(page.start)
        if mapping.slices.is_free(index - 1):
            before = blocks.before(page.start)
            assert before is not None, "the free slice belongs to a block"
            blocks.join(before)
        mapping.slices.put(index, page.slices)

    def mark(self, page: Page) -> None:
        """Enter an abandoned page in the map that threads search."""
        assert isinstance(page.mapping, Arena), "only pages in arenas are searched for"
        marked = page.mapping.abandoned.setdefault(page.block_size, {})
        marked[page.mapping.index(page.start)] = page
        page.is_marked = True

    def unmark(self, page: Page) -> None:
        """Remove a page from the map that threads search, if it is there."""
        if page.is_marked:
            assert isinstance(page.mapping, Arena)
            del page.mapping.abandoned[page.block_size][page.mapping.index(page.start)]
            page.is_marked = False

    def find_marked(self, block_size: int, sequence: int) -> Page | None:
        """Return an abandoned page with free blocks of a size, or None."""
        for arena in self._in_order(sequence):
            marked = arena.abandoned.get(block_size)
            if not marked:
                continue
            wrap = max(marked) // CHUNK + 1
            order = list(rotated(sequence % 8, wrap, wrap))
            return marked[min(marked, key=lambda index: (order.index(index // CHUNK), index))]
        return None

    def purge(self, sequence: int, now: int, *, force: bool = False) -> None:
        """Purge slices that are due in a limited number of arenas; with `force`, in every arena."""
        if not self.arenas or (not force and (self._expire == 0 or self._expire > now)):
            return
        most = len(self.arenas) if force else len(self.arenas) // 4 + 1
        is_waiting = False
        for number in rotated(sequence, len(self.arenas), len(self.arenas)):
            arena = self.arenas[number]
            if arena.expire == 0:
                continue
            is_waiting = True
            if arena.expire <= now or force:
                arena.expire = 0
                self._purge_arena(arena)
                most -= 1
                if most == 0:
                    return
        if not is_waiting:
            self._expire = 0

    def register(self, page: Page) -> None:
        """Enter a page in the page map, and map the parts of the page map that it needs."""
        if not self._mechanism:
            return
        first = self.absolute(page.mapping, page.start) // SLICE
        slices_of_part = _PAGE_MAP_RANGE // SLICE
        for number in range(first, first + min(page.slices, _MAX_REGISTERED)):
            part, word = divmod(number, slices_of_part)
            if part not in self._page_map:
                with needed_by_allocator():
                    self._page_map[part] = self._heap.blocks.map_segment(8 * slices_of_part)
                self._heap.blocks.mark(self._page_map[part], State.TABLE)
                self.committed += 8 * slices_of_part
            self._heap.touch(self._page_map[part] + 8 * word, 8)

    def touch_header(self, page: Page, size: int) -> None:
        """Write a page's header: at its start, among the arena's headers, or before the page."""
        if not self._mechanism:
            return
        if page.is_small:
            self._heap.touch(page.start, size)
        if isinstance(page.mapping, Arena):
            part = (page.start - page.mapping.start) // MAPPING_ALIGNMENT * MAPPING_ALIGNMENT
            index = (page.start - page.mapping.start - part) // SLICE
            count = 1 if page.is_single else page.slices
            self._heap.touch(page.mapping.start + part + index * size, count * size)
        elif not page.is_small:
            self._heap.touch(page.mapping.start, size)

    @staticmethod
    def absolute(mapping: Mapping, address: int) -> int:
        """Return the address in the real process of an address in the model."""
        return mapping.absolute + address - mapping.start

    def _take_in_arenas(self, slices: int, sequence: int) -> Run | None:
        for arena in self._in_order(sequence):
            index = arena.slices.find(slices, sequence)
            if index is not None:
                return self._use(arena, index, slices)
        return None

    def _take_in_new_arena(self, slices: int, sequence: int) -> Run | None:
        """Reserve an arena and take slices there; return None if no run is long enough."""
        size = self._options.arena_reserve << len(self.arenas) // 8
        least = round_up(slices * SLICE, _CHUNK_SIZE) + _CHUNK_SIZE
        size = max(min(size, _LARGEST_ARENA), least)
        try:
            arena = Arena(*self._map(size, MAPPING_ALIGNMENT), size)
        except Refused:
            return None
        self.arenas.append(arena)
        self._heap.growths += 1
        self._heap.blocks.mark(arena.start, State.FREE)
        if self._options.allow_thp and self._options.arena_eager_commit:
            self._heap.use_huge_pages(arena.start, size)
        if self._mechanism:
            self._make_tables(arena)
        return self._take_in_arenas(slices, sequence)

    def _make_tables(self, arena: Arena) -> None:
        """Take the slices that contain an arena's bitmaps and its pages' headers."""
        map_size = arena.size // _CHUNK_SIZE * (CHUNK // 8)
        bitmaps = 704 + _BINS_WITH_MAP * (128 + map_size) + 448 + map_size
        for part in range(0, arena.size, MAPPING_ALIGNMENT):
            count = HEADER_SLICES + (-(-bitmaps // SLICE) if part == 0 else 0)
            address = self._cut_out(arena, part // SLICE, count)
            self._heap.blocks.mark(address, State.TABLE)
            if not self._options.arena_eager_commit:
                self.committed += count * SLICE
        self._heap.touch(arena.start + HEADER_SLICES * SLICE, bitmaps - map_size)

    def _use(self, arena: Arena, index: int, count: int) -> Run:
        address = self._cut_out(arena, index, count)
        self._heap.blocks.mark(address, State.WASTE)
        arena.slices.keep_for(index, count)
        bits = ((1 << count) - 1) << index
        is_new = arena.committed & bits == 0
        self.committed += (bits & ~arena.committed).bit_count() * SLICE
        arena.committed |= bits
        return Run(arena, address, is_new=is_new)

    def _cut_out(self, arena: Arena, index: int, count: int) -> int:
        """Cut a block out of free slices, which become used; return its address."""
        blocks, slices = self._heap.blocks, arena.slices
        first = index
        while slices.is_free(first - 1):
            first -= 1
        start, address = arena.start + first * SLICE, arena.start + index * SLICE
        if start < address:
            blocks.cut(start, address - start)
        if blocks.size[address] > count * SLICE:
            blocks.cut(address, count * SLICE)
        slices.take(index, count)
        return address

    def _in_order(self, sequence: int) -> list[Arena]:
        """Return the arenas in the order in which a thread searches them."""
        others = len(self.arenas) - 1
        if others < 1:
            return self.arenas
        return [self.arenas[i] for i in rotated(sequence, others, others + 1)]

    def _map(self, size: int, alignment: int) -> tuple[int, int]:
        """Return the address of a new mapping, in the model and in the real process."""
        start = self._heap.blocks.map_segment(size, alignment)
        absolute = round_up(self._hint, MAPPING_ALIGNMENT)
        self._hint = round_up(self._hint + size + 4096 + MAPPING_ALIGNMENT - 1, 2 * MIB)
        return start, absolute

    def _unmap(self, page: Page) -> None:
        mapping, blocks = page.mapping, self._heap.blocks
        front = page.start - mapping.start
        while blocks.size[mapping.start] < mapping.size:
            blocks.join(mapping.start)
        blocks.unmap_segment(mapping.start)
        self.committed -= mapping.size - front

    def _mark_for_purge(self, arena: Arena, index: int, count: int, now: int) -> None:
        options = self._options
        delay = options.purge_delay * options.arena_purge_mult
        if delay == 0 or count * SLICE >= options.arena_purge_immediate_size:
            self._discard(arena, index, count)
            return
        arena.purge |= ((1 << count) - 1) << index
        arena.expire = arena.expire or now + delay
        self._expire = self._expire or now + delay

    def _purge_arena(self, arena: Arena) -> None:
        """Purge the free slices of all units whose slices are all scheduled."""
        unit = self._options.purge_unit // SLICE
        whole = (1 << unit) - 1
        for index in range(0, arena.size // SLICE - unit + 1, unit):
            if arena.purge >> index & whole != whole:
                continue
            arena.purge &= ~(whole << index)
            free = [i for i in range(index, index + unit) if arena.slices.is_free(i)]
            for place in free:
                arena.slices.put(place, 1)
            if len(free) == unit:
                self._discard(arena, index, unit)
            else:
                for place in free:
                    self._discard(arena, place, 1)

    def _discard(self, arena: Arena, index: int, count: int) -> None:
        if self._options.purge_decommits:
            self._heap.discard(arena.start + index * SLICE, count * SLICE)
