"""mimalloc 3 (simalloc/policy/families/mimalloc.md)."""

from __future__ import annotations

from collections.abc import Iterable

from simalloc.heap.reference.families.mimalloc.block_sizes import (
    KIB,
    SLICE,
    block_size,
    lowest_bit,
    system_size,
)
from simalloc.heap.reference.families.mimalloc.heap import SMALL, MimallocHeap
from simalloc.heap.reference.families.mimalloc.theap import Queue
from simalloc.heap.reference.families.mimalloc3.arena import Arena, Arenas
from simalloc.heap.reference.families.mimalloc3.page import (
    HEADER,
    LARGEST_BLOCK,
    LARGEST_SMALL,
    Page,
    first_block,
    natural_alignment,
    slices_for,
)
from simalloc.heap.reference.families.mimalloc3.theap import Theap
from simalloc.heap.reference.space import State
from simalloc.policy.families.mimalloc import Mimalloc, ReclaimOnFree

_THOROUGH_FROM = 8 * KIB
"""Minimum bytes of a request that removes the page that it fills from its queue."""

_CALLS_TO_COLLECT = 1000

_LARGEST_RECLAIMED = 128 * KIB

_RECORDS = (112, 8904)
"""Sizes of a thread's own records."""


class Mimalloc3Heap(MimallocHeap[Page, Theap]):
    """Pages of blocks of one size, abandoned when full and reclaimed when blocks are free."""

    largest_small = LARGEST_SMALL
    retired_for = 16, 4
    retired_pages = 3
    extended = 8 * KIB, 1

    def __init__(self, description: Mimalloc) -> None:
        super().__init__(description, Theap(sequence=0, full_retain=description.page_full_retain))
        self._arenas = Arenas(self, description)
        self._records = Theap(sequence=0, full_retain=2)
        self._threads = 1

    def rounded(self, size: int) -> int:
        """Return the block size for requests of `size` bytes."""
        return block_size(size) if size <= LARGEST_BLOCK else system_size(size, SLICE)

    def give_back(self) -> None:
        """Collect all memory of the thread, and purge all scheduled slices."""
        self._calls += 1
        theap = self._theaps.get(self.request.thread)
        if theap is not None:
            self._collect_finally(theap, ends=False)
        self._arenas.purge(0 if theap is None else theap.sequence, self._now, force=True)

    def figures(self) -> dict[str, int]:
        """Return the committed bytes, as `mi_process_info` reports them."""
        return {"committed": max(self._arenas.committed, 0)}

    def locate(self, address: int) -> tuple[int, int, int]:
        """Return an object's distance from the first arena."""
        page = self._page_of(address)
        return 0, 0, self._arenas.absolute(page.mapping, address) - self._options.base

    def listed(self) -> Iterable[int]:
        """Return the free blocks and unused parts of all pages, and the free slices."""
        yield from self._free_in_pages()
        for arena in self._arenas.arenas:
            yield from arena.free_runs()

    def _theap_of_caller(self) -> Theap:
        """Return the state of the request's thread, made at its first malloc."""
        thread = self.request.thread
        if thread not in self._theaps:
            retain = self._options.page_full_retain
            theap = Theap(sequence=self._threads, full_retain=retain, is_new=True)
            self._threads += 1
            if self._mechanism:
                theap.records = tuple(self._allocate(self._records, size) for size in _RECORDS)
                for address in theap.records:
                    self.blocks.mark(address, State.TABLE)
                    self.touch(address, self.block_size(address))
            self._theaps[thread] = theap
        return self._theaps[thread]

    def _end(self, theap: Theap) -> None:
        self._collect_finally(theap, ends=True)
        for address in reversed(theap.records):
            self._free_for(None, address)

    def _allocate_aligned(self, theap: Theap, size: int, alignment: int) -> int:
        """Take a block that is aligned by itself, or the high end of a larger block."""
        if alignment > SLICE:
            return self._allocate_generic(theap, max(size, SMALL + 1), alignment)
        if size < alignment <= 4096:
            size = alignment
        wanted = self.rounded(size)
        if alignment <= size:
            following = theap.next_block(wanted) if size <= SMALL else None
            if following is not None and following % alignment == 0:
                return self._allocate(theap, size)
            if alignment <= self._natural(wanted):
                return self._allocate(theap, size)
        return self._align_inside(self._allocate(theap, max(size, 16) + alignment - 1), alignment)

    def _natural(self, size: int) -> int:
        return natural_alignment(size) if self._mechanism else min(lowest_bit(size), SLICE)

    def _allocate_generic(self, theap: Theap, size: int, alignment: int = 0) -> int:
        """Search all pages of the size; collect every 1,000 calls.

        A page that the call fills is abandoned if its blocks are not small, and if the call
        collects or the request is large.
        """
        theap.calls += not theap.is_new
        theap.is_new = False
        is_thorough = theap.calls >= _CALLS_TO_COLLECT or size >= _THOROUGH_FROM
        if theap.calls >= _CALLS_TO_COLLECT:
            self._collect_regularly(theap)
        self.visited = 0
        page = self._find_page(theap, size, alignment)
        address = self._take(page)
        if is_thorough and not page.is_small and page.used == page.reserved:
            self._abandon(page)
        return address

    def _collect_regularly(self, theap: Theap) -> None:
        theap.collected += theap.calls
        theap.calls = 0
        self._collect_retired(theap)
        if theap.collected >= self._options.generic_collect:
            theap.collected = 0
            for page in theap.all_pages():
                page.collect()
                if page.used == 0 and page.retire == 0:
                    self._free_page(page)
            self._arenas.purge(theap.sequence, self._now)

    def _find_page(self, theap: Theap, size: int, alignment: int) -> Page:
        """Return a page of the thread with a free block for a request."""
        if alignment or size > LARGEST_BLOCK:
            return self._new_page(theap, system_size(size, SLICE), alignment)
        wanted = block_size(size)
        queue = theap.queue(wanted)
        if queue.pages:
            first = queue.pages[0]
            first.use_local()
            page = first if first.free else self._search(theap, queue)
            if page is not None:
                page.retire = 0
                return page
        self._collect_retired(theap)
        return self._reclaim_for(theap, wanted) or self._new_page(theap, wanted)

    def _search(self, theap: Theap, queue: Queue[Page]) -> Page | None:
        """Return the best of the first pages with free blocks, and abandon full pages."""
        retain = queue.score // 32
        if queue.pages[0].is_small:
            retain += theap.full_retain
        last, limit = queue.pages[-1], 0
        candidate: Page | None = None
        for page in list(queue.pages):
            limit -= 1
            self.visited += 1
            if not page.free:
                had_remote = bool(page.remote)
                page.collect()
                queue.count(was_freed_in=had_remote and bool(page.free))
            if not page.free and not page.is_expandable:
                retain -= 1
                if retain < 0:
                    self._abandon(page)
                elif page not in (last, queue.pages[-1]):
                    queue.move(page, to_front=False)
                continue
            if candidate is None:
                limit = self._options.page_max_candidates
            candidate = self._better(candidate, page)
            if page.free or limit <= 0:
                break
        return None if candidate is None else self._prepare(queue, candidate)

    def _better(self, candidate: Page | None, page: Page) -> Page:
        """Return the better of two pages with free blocks. An empty candidate is freed."""
        if candidate is None:
            return page
        if candidate.used == 0:
            self._free_page(candidate)
            return page
        is_fuller = page.used >= candidate.used and page.unused > page.reserved // 8
        return page if is_fuller else candidate

    def _prepare(self, queue: Queue[Page], page: Page) -> Page:
        """Move a page to the front of its queue, and give it a free block."""
        if not page.free:
            self._extend(page)
        queue.move(page, to_front=True)
        return page

    def _reclaim_for(self, theap: Theap, size: int) -> Page | None:
        """Reclaim an abandoned page with a free block of a size, or return None."""
        while page := self._arenas.find_marked(size, theap.sequence):
            self._arenas.unmark(page)
            page.collect()
            if page.used == 0:
                self._free_page(page)
                continue
            self._adopt(theap, page)
            if not page.free:
                self._extend(page)
            return page
        return None

    def _new_page(self, theap: Theap, size: int, alignment: int = 0) -> Page:
        """Make a page for blocks of `size` bytes, the first of its queue."""
        slices = size // SLICE if alignment else slices_for(size, mechanism=self._mechanism)
        if alignment:
            run = self._arenas.map_page(slices, alignment)
        else:
            run = self._arenas.take(slices, theap.sequence)
        mapping, start = run.mapping, run.start
        offset = 0
        if self._mechanism and not alignment:
            offset = first_block(size, slices, self._arenas.absolute(mapping, start))
        reserved = 1 if size > LARGEST_BLOCK or alignment else (slices * SLICE - offset) // size
        page = Page(
            start,
            slices,
            size,
            start + offset,
            reserved,
            mapping=mapping,
            owner=theap,
            former=theap,
            is_new=run.is_new,
        )
        theap.queue_of(page).pages.insert(0, page)
        self._pages[start] = page
        self._arenas.register(page)
        self._cut_ends(page, State.TABLE if page.is_small else State.WASTE)
        self._arenas.touch_header(page, HEADER)
        self._extend(page)
        return page

    def _free_page(self, page: Page) -> None:
        """Join the blocks of a page into one, and free its slices."""
        if page.owner is not None:
            page.owner.queue_of(page).pages.remove(page)
        self._arenas.unmark(page)
        del self._pages[page.start]
        while self.blocks.size[page.start] < page.slices * SLICE:
            self.blocks.join(page.start)
        self._arenas.give(page, self._now)

    def _free_for(self, theap: Theap | None, address: int) -> None:
        """Free a block on behalf of a thread."""
        page = self._page_of(address)
        block = self._free_block(page, address)
        if page.owner is None:
            page.remote.append(block)
            self._free_abandoned(theap, page)
        elif page.owner is theap:
            page.local.append(block)
            page.used -= 1
            if page.used == 0 and page.retire == 0:
                self._retire(theap, page)
        else:
            page.remote.append(block)

    def _free_abandoned(self, theap: Theap | None, page: Page) -> None:
        """Free, reclaim or mark a page without an owner after one of its blocks was freed."""
        page.collect(keep_newest=int(page.block_size <= SMALL))
        if page.used == 1:
            page.collect()
        if page.used == 0:
            self._free_page(page)
        elif theap is not None and self._may_reclaim(theap, page):
            self._arenas.unmark(page)
            page.collect()
            self._adopt(theap, page)
        elif (
            isinstance(page.mapping, Arena)
            and not page.is_marked
            and page.unused > page.reserved // 8
        ):
            page.collect()
            self._arenas.mark(page)

    def _may_reclaim(self, theap: Theap, page: Page) -> bool:
        options = self._options
        if options.page_reclaim_on_free is ReclaimOnFree.NEVER:
            return False
        if page.block_size > _LARGEST_RECLAIMED:
            return False
        has = len(theap.queue_of(page).pages)
        if page.former is theap:
            return has <= options.page_max_reclaim
        return (
            options.page_reclaim_on_free is ReclaimOnFree.ANY
            and page.unused > page.reserved // 4
            and has <= options.page_cross_thread_max_reclaim
        )

    def _adopt(self, theap: Theap, page: Page) -> None:
        """Make a thread the owner of a page, which becomes the last of its queue."""
        page.owner = page.former = theap
        theap.queue_of(page).pages.append(page)

    def _abandon(self, page: Page) -> None:
        """Remove a page's owner; mark the page if it has free blocks, or free it if empty."""
        assert page.owner is not None
        page.collect()
        if page.used == 0:
            self._free_page(page)
            return
        page.owner.queue_of(page).pages.remove(page)
        page.owner = None
        if page.unused and isinstance(page.mapping, Arena):
            self._arenas.mark(page)
