"""The collector of Boehm, Demers and Weiser: freed objects are garbage until a collection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.parts.page_runs import PagedHeap
from simalloc.heap.reference.space import Refused, State
from simalloc.policy.families.bw_gc import BwGc

INDEXED: Final = 1024
"""Number of pages in a stretch, and of entries in its index."""
STRETCHES: Final = 65536
"""Maximum number of stretches with an index."""
ONE_BY_ONE: Final = 8
"""Maximum number of indexes that are allocated one by one; further ones are allocated together."""
AVOIDED_PAGES: Final = 2048
"""Bytes of a table of pages that are avoided because of false pointers."""


@dataclass(eq=False)
class ObjectPage:
    """A page of objects of one size. `uncut` is its low end, which was never used."""

    address: int
    size: int
    uncut: int | None
    live: int = 0
    """Number of objects that the program has not freed."""
    dead: set[int] = field(default_factory=set)
    """Addresses of the other objects: garbage or free."""
    unmarked: list[int] = field(default_factory=list)
    """Objects that were dead at the latest collection, the lowest first."""


@dataclass(eq=False)
class SizeLists:
    """Sources of objects of one size."""

    free: list[int] = field(default_factory=list)
    """Free objects, taken from the end."""
    fresh: ObjectPage | None = None
    """Page whose unused objects are taken after `free`, from the highest down."""
    unswept: list[ObjectPage] = field(default_factory=list)
    """Pages left by the latest collection, which are swept last, from the end of the list."""


class BwGcHeap(PagedHeap):
    """The Boehm-Demers-Weiser collector (policy/families/bw_gc.md)."""

    def __init__(self, description: BwGc) -> None:
        super().__init__(description.page)
        self._word = description.word
        self._slop = description.overhead.footer if description.mechanism else 0
        self._roots = description.roots
        self._divisor = description.divisor
        self._increment = description.increment
        self._max = description.most
        self._tables = description.mechanism
        # Unused bytes of the memory for tables, number of headers, and sizes that have a map.
        self._table_bytes = 0
        self._headers = 0
        self._mapped: set[int] = set()
        # Stretches of pages with an index.
        self._indexed: set[int] = set()
        self._collected_bytes = 0
        self._pages: dict[int, ObjectPage] = {}
        self._sizes: dict[int, SizeLists] = {}
        # Objects of whole pages; the value is False once the program has freed the object.
        self._large: dict[int, bool] = {}
        # Run behind which the next search starts, or None to start at the lowest run.
        self._position: int | None = None
        # Words allocated and freed explicitly since the latest collection.
        self._allocated_since = 0
        self._freed_since = 0
        self.collections = 0

    def malloc(self, size: int) -> int:
        """Take a free object or free pages. If none is free, collect or expand, and try again."""
        self.visited = 0
        if not self.brk:
            self._begin()
        if self.rounded(size) > self._page // 2:
            return self._allocate_pages(size)
        size = self.rounded(size)
        lists = self._sizes.get(size)
        if lists is None:
            lists = self._sizes[size] = SizeLists()
        while not self._has_free(lists, size):
            self._collect_or_expand(1)
        self._allocated_since += size // self._word
        return self._take_object(lists)

    def free(self, address: int) -> None:
        """Mark the object as garbage, which only a collection reclaims."""
        self.blocks.mark(address, State.CACHED)
        page = self._pages.get(self._page_of(address))
        if page is None:
            self._large[address] = False
        else:
            page.live -= 1
            page.dead.add(address)

    def reallocate(self, address: int, size: int) -> int:
        """Stay, or move and free the old object immediately, as the collector's realloc does."""
        if self.reallocate_in_place(address, size):
            return address
        moved = self.front.malloc(size)
        self.free(address)
        page = self._pages.get(self._page_of(address))
        if page is None:
            self._freed_since += self.block_size(address) // self._word
            self._free_pages(address)
        else:
            self._freed_since += page.size // self._word
            self._sizes[page.size].free.append(address)
        return moved

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Keep the block if the object fits and needs at least half of it."""
        held = self.block_size(address)
        return size <= held and size - self._slop >= held // 2

    def rounded(self, size: int) -> int:
        """Return the object size: words, in few sizes above eight words, or whole pages."""
        words = -(-size // self._word)
        step = 1
        while words > 8 * step:
            step *= 2
        if size - self._slop > 8 * self._word:
            words = round_up(words, step)
        if words * self._word > self._page // 2:
            return round_up(size, self._page)
        return words * self._word

    def cached(self) -> list[int]:
        """Return all garbage and free objects; the unused objects of a page count as one."""
        large = [address for address, live in self._large.items() if not live]
        uncut = [page.uncut for page in self._pages.values() if page.uncut is not None]
        return [*large, *uncut, *(at for p in self._pages.values() for at in p.dead)]

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        assert self._position is None or self._position in self._runs
        for size, lists in self._sizes.items():
            for address in lists.free:
                page = self._pages[self._page_of(address)]
                assert page.size == size
                assert address in page.dead, "a free block is dead"

    def _begin(self) -> None:
        """Take the initial tables and the first pages."""
        if self._tables:
            for _ in range(3):
                self._take_table(AVOIDED_PAGES)
            stack = self._grow_aligned(2 * self._word * self._page)
            self.blocks.mark(stack, State.TABLE)
        self._expand(self._increment)
        self._take_table(self._map_bytes)  # map of the runs, which contain no objects

    def _allocate_pages(self, size: int) -> int:
        """Take a run for a large object."""
        pages = round_up(size, self._page)
        run = self._find_run(pages)
        while run is None:
            self._collect_or_expand(pages // self._page)
            run = self._find_run(pages)
        with self._putting_back(run):
            self._map(0)
        self._allocated_since += round_up(size, self._word) // self._word
        self._large[run] = True
        return run

    def _has_free(self, lists: SizeLists, size: int) -> bool:
        """Return whether a free object exists, after sweeping pages or cutting a new page."""
        while not lists.free and lists.fresh is None and lists.unswept:
            self._sweep(lists, lists.unswept.pop())
        if lists.free or lists.fresh is not None:
            return True
        address = self._find_run(self._page)
        if address is None:
            return False
        with self._putting_back(address):
            self._map(size)
        used = self._page - self._page % size
        if used < self._page:
            self.blocks.mark(self.blocks.cut(address, used), State.WASTE)
        self.blocks.mark(address, State.CACHED)
        lists.fresh = self._pages[address] = ObjectPage(address, size, address)
        return True

    def _take_object(self, lists: SizeLists) -> int:
        """Take the next free object."""
        self.visited += 1
        if lists.free:
            address = lists.free.pop()
            page = self._pages[self._page_of(address)]
            page.dead.remove(address)
        else:
            assert lists.fresh is not None
            assert lists.fresh.uncut is not None
            page, address = lists.fresh, lists.fresh.uncut
            left = self.block_size(address) - page.size
            if left:
                address = self.blocks.cut(address, left)
            else:
                page.uncut = lists.fresh = None
        self.blocks.mark(address, State.ALLOCATED)
        page.live += 1
        return address

    def _sweep(self, lists: SizeLists, page: ObjectPage) -> None:
        """Free the dead objects that the collection found in a page; the highest is taken first."""
        lists.free += page.unmarked
        if page.uncut is not None:
            lists.fresh = page

    def _find_run(self, size: int) -> int | None:
        """Take a run by next fit; skip a run if the run after it is smaller and fits."""
        runs = list(self._from_position())
        for place, run in enumerate(runs):
            self.visited += 1
            have = self.block_size(run)
            following = self.block_size(runs[(place + 1) % len(runs)])
            if have < size or size <= following < have:
                continue
            index = self._runs.index(run)
            self._take_run(run, size)
            self._position = self._runs[index] if index < len(self._runs) else None
            with self._putting_back(run):
                if have > size:
                    self._index(run + size, self._page)
                self._describe_runs()
                self._index(run, size)
            return run
        return None

    @contextmanager
    def _putting_back(self, run: int) -> Iterator[None]:
        """Free a run again if memory for a table is refused."""
        try:
            yield
        except Refused:
            self._free_run(run)
            self._position = None
            raise

    def _from_position(self) -> Iterator[int]:
        """Iterate around the free runs in address order, starting behind the position."""
        start = 0 if self._position is None else self._runs.index(self._position) + 1
        yield from self._runs[start:]
        yield from self._runs[:start]

    def _free_pages(self, address: int) -> None:
        """Free a large object; the next search starts with the lowest run."""
        del self._large[address]
        self._free_run(address)
        self._position = None

    def _collect_or_expand(self, needed: int) -> None:
        """Collect if enough was allocated since the latest collection; else raise the break.

        `needed` and the increments are in pages.
        """
        net = self._allocated_since - self._freed_since
        if net < self._allocated_since // 4:
            net = self._allocated_since // 8
        enough = (self._collected_bytes + self._roots) // self._word // self._divisor
        if net >= max(enough, 1):
            self._collect()
            return
        self._expand(self._increment + needed)
        self._increment = min(self._increment * 3 // 2, self._max)

    def _expand(self, pages: int) -> None:
        """Raise the break and free the new pages."""
        if pages > 2 * self._increment:
            self._increment = pages // 2
        address = self._grow_aligned(pages * self._page)
        self._collected_bytes += pages * self._page
        try:
            self._index(address, self._page)
            self._describe_runs()
        finally:
            self._free_run(address)
            self._position = None

    def _grow_aligned(self, size: int) -> int:
        """Raise the break. With mechanism, it rises by one page more, which alignment wastes."""
        address = self._grow(size + (self._page if self._tables else 0))
        if self._tables:
            self.blocks.mark(self.blocks.cut(address, size), State.WASTE)
        return address

    def _take_table(self, size: int) -> None:
        """Take memory for a table, which is never freed, from the remainder or from new memory."""
        if not self._tables:
            return
        if self._table_bytes < size:
            taken = (17 * self._page + size) // self._page * self._page
            self.blocks.mark(self._grow_aligned(taken), State.TABLE)
            self._table_bytes = taken
        self._table_bytes -= size

    @property
    def _map_bytes(self) -> int:
        return 2 * self._page // self._word

    def _map(self, size: int) -> None:
        """Take a map of the objects of a size that has no map; large objects count as size 0."""
        if size not in self._mapped:
            self._take_table(self._map_bytes)
            self._mapped.add(size)

    def _describe_runs(self) -> None:
        """Take a header for each run without one: runs in use, free runs and the new run."""
        while self._headers < len(self._pages) + len(self._large) + len(self._runs) + 1:
            self._take_table(5 * self._word + -(-self._page // self._word // 8))
            self._headers += 1

    def _index(self, address: int, size: int) -> None:
        """Take an index for each stretch that contains these pages and has no index."""
        stretch = INDEXED * self._page
        end = min((address + size - 1) // stretch + 1, STRETCHES)
        new = sorted(set(range(address // stretch, end)) - self._indexed)
        for each in new[:ONE_BY_ONE]:
            self._take_table(INDEXED * self._word)
            self._indexed.add(each)
        self._indexed |= set(new)
        if len(new) > ONE_BY_ONE:
            self._take_table((len(new) - ONE_BY_ONE) * INDEXED * self._word)

    def _turn(self, address: int) -> tuple[int, int]:
        """Return the sort key of a collector's visit: ascending by index, descending within it."""
        return address // (INDEXED * self._page), -address

    def _collect(self) -> None:
        """Free every page without a live object, and queue all other pages for sweeping."""
        self.collections += 1
        self._allocated_since = self._freed_since = 0
        for lists in self._sizes.values():
            lists.free, lists.fresh, lists.unswept = [], None, []
        for address in sorted([*self._pages, *self._large], key=self._turn):
            page = self._pages.get(address)
            if page is None:
                if not self._large[address]:
                    self._free_pages(address)
            elif page.live:
                page.unmarked = sorted(page.dead)
                self._sizes[page.size].unswept.append(page)
            else:
                del self._pages[address]
                self._join_page(address)
                self._free_run(address)
                self._position = None
