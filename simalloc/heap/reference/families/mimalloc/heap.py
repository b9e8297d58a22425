"""The program's calls to mimalloc, for both releases (policy/families/mimalloc.md)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Generic, TypeVar

from sortedcontainers import SortedDict

from simalloc.heap.reference.families.mimalloc.block_sizes import SLICE, block_size
from simalloc.heap.reference.families.mimalloc.page import Page
from simalloc.heap.reference.families.mimalloc.theap import Theap
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.space import State, needed_by_allocator
from simalloc.policy.families.mimalloc import Mimalloc

_THREAD_BLOCK = 288
"""Bytes that the C library allocates for each thread that it starts."""

SMALL = 1024
"""Maximum bytes of a request that takes a block from the first page without a search."""

PageT = TypeVar("PageT", bound=Page)
TheapT = TypeVar("TheapT", bound=Theap[Any])


class MimallocHeap(Heap, Generic[PageT, TheapT]):
    """Pages of blocks of one size, each owned by a thread; the releases manage them differently."""

    largest_small: ClassVar[int]
    """Largest block in a page of one slice."""
    retired_for: ClassVar[tuple[int, int]]
    """Number of collections that an empty page survives: a page of small blocks, and any other
    page."""
    retired_pages: ClassVar[int]
    """Maximum number of empty pages in a queue that a collection retires."""
    extended: ClassVar[tuple[int, int]]
    """Maximum bytes of blocks put on the free list together, and the minimum number of blocks."""

    def __init__(self, description: Mimalloc, main: TheapT) -> None:
        super().__init__()
        self._options = description
        self._mechanism = description.mechanism
        self._theaps = {0: main}
        self._pages: SortedDict[int, PageT] = SortedDict()  # address of the first slice
        self._calls = 0  # number of the program's calls
        self._is_started = False

    @abstractmethod
    def _theap_of_caller(self) -> TheapT:
        """Return the state of the request's thread, made at its first malloc."""

    @abstractmethod
    def _allocate_generic(self, theap: TheapT, size: int) -> int:
        """Take a block if the first page has no free block."""

    @abstractmethod
    def _allocate_aligned(self, theap: TheapT, size: int, alignment: int) -> int:
        """Take an aligned block, or the aligned end of a larger block."""

    @abstractmethod
    def _free_for(self, theap: TheapT | None, address: int) -> None:
        """Free a block in its page on behalf of a thread."""

    @abstractmethod
    def _free_page(self, page: PageT) -> None:
        """Join the blocks of a page into one block, and free its slices."""

    @abstractmethod
    def _abandon(self, page: PageT) -> None:
        """Remove the owner of a page; free the page if it is empty."""

    @abstractmethod
    def _end(self, theap: TheapT) -> None:
        """Free the empty pages of an exiting thread, and abandon the others."""

    def malloc(self, size: int) -> int:
        """Take a block of the thread's first page for the size, or search further."""
        if not self._is_started:
            self._start_program()
        self._calls += 1
        theap = self._theap_of_caller()
        if self.request.alignment > 1:
            return self._allocate_aligned(theap, size, self.request.alignment)
        return self._allocate(theap, size)

    def free(self, address: int) -> None:
        """Free the block in its page, or pass it to the thread that owns the page."""
        self._calls += 1
        self._free_for(self._theaps.get(self.request.thread), address)

    def reallocate(self, address: int, size: int) -> int:
        """Stay if the block is large enough and at most twice as large; else move."""
        self._calls += 1
        if self.reallocate_in_place(address, size):
            return address
        kept = min(self.block_size(address), size)
        theap = self._theap_of_caller()
        new = self._allocate(theap, size)
        self.touch(new, kept)
        self._free_for(theap, address)
        return new

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Return whether the block is large enough, and at most twice as large as needed."""
        usable = self.block_size(address)
        return self.request.size > 0 and usable // 2 <= size <= usable

    def end_thread(self) -> None:
        """Free the thread's empty pages, and abandon the others."""
        if not self._is_started:
            self._start_program()
        self._calls += 1
        theap = self._theaps.pop(self.request.thread, None)
        if theap is not None:
            self._end(theap)

    @property
    def _now(self) -> int:
        """Time in milliseconds."""
        tick = self._options.tick
        return (self._calls * tick if tick else self.request.time) // 1_000_000

    def _start_program(self) -> None:
        """Allocate the objects that exist before the program's first call."""
        self._is_started = True
        for _ in range(self.other_threads if self._mechanism else 0):
            with needed_by_allocator():
                block = self._allocate(self._theaps[0], _THREAD_BLOCK)
            self.blocks.mark(block, State.TABLE)

    def _page_of(self, address: int) -> PageT:
        page: PageT = self._pages.peekitem(self._pages.bisect_right(address) - 1)[1]
        return page

    def _allocate(self, theap: TheapT, size: int) -> int:
        """Take a block of the thread's first page for the size, or search further."""
        if size <= SMALL and theap.next_block(block_size(size)) is not None:
            self.visited = 1
            return self._take(theap.queue(block_size(size)).pages[0])
        return self._allocate_generic(theap, size)

    def _take(self, page: Page) -> int:
        address = page.free.pop()
        page.used += 1
        self.blocks.mark(address, State.ALLOCATED)
        if self.request.is_zeroed and not page.is_zero:
            self.touch(address, page.block_size)
        return address

    def _align_inside(self, address: int, alignment: int) -> int:
        """Return the aligned high end of a block; the low end is waste until the block is freed."""
        skipped = -address % alignment
        if skipped:
            self.blocks.mark(address, State.WASTE)
            address = self.blocks.cut(address, skipped)
            self.blocks.mark(address, State.ALLOCATED)
        return address

    def _free_block(self, page: Page, address: int) -> int:
        """Free the whole block of an object, which may occupy only the high end of the block."""
        block = page.slot(address)
        if block < address:
            self.blocks.join(block)
        self.blocks.mark(block, State.FREE)
        return block

    def _extend(self, page: Page) -> None:
        """Put the next blocks on the free list; the lowest comes first."""
        extended, least = self.extended
        count = min(page.reserved - page.capacity, max(least, extended // page.block_size))
        at = page.first + page.capacity * page.block_size
        blocks = [at + i * page.block_size for i in range(count)]
        page.capacity += count
        for address in blocks:
            if address + page.block_size < page.first + page.reserved * page.block_size:
                self.blocks.cut(address, page.block_size)
            if self._mechanism:
                self.touch(address, 8)
        page.free = blocks[::-1]
        page.is_zero = page.is_new

    def _cut_ends(self, page: Page, front: State) -> None:
        """Cut off the parts of a new page in front of its blocks and behind its blocks."""
        blocks, end = self.blocks, page.first + page.reserved * page.block_size
        if page.first > page.start:
            blocks.cut(page.start, page.first - page.start)
            blocks.mark(page.start, front)
        if end < page.start + page.slices * SLICE:
            blocks.mark(blocks.cut(page.first, end - page.first), State.WASTE)
        blocks.mark(page.first, State.FREE)

    def _free_in_pages(self) -> Iterator[int]:
        """Yield the free blocks of all pages, and the unused part of each page."""
        for page in self._pages.values():
            yield from (*page.free, *page.local, *page.remote)
            if page.is_expandable:
                yield page.first + page.capacity * page.block_size

    def _collect_finally(self, theap: TheapT, *, ends: bool) -> None:
        """Collect all pages of a thread; free empty pages; if it exits, abandon the others."""
        self._collect_retired(theap, force=True)
        for page in theap.all_pages():
            page.collect_all()
            if page.used == 0:
                self._free_page(page)
            elif ends:
                self._abandon(page)

    def _retire(self, theap: TheapT, page: PageT) -> None:
        """Retire an empty page if the thread has few pages of its size; else free it."""
        has = len(theap.queue_of(page).pages)
        is_one_of_many = has > self.retired_pages or (has > 1 and page.block_size >= SMALL)
        if page.is_single or page.is_full or is_one_of_many:
            self._free_page(page)
            return
        page.retire = self.retired_for[page.block_size > self.largest_small]
        theap.note_retired(page.block_size)

    def _collect_retired(self, theap: TheapT, *, force: bool = False) -> None:
        """Count down the retired pages and free those at 0; with `force` free all of them."""
        if theap.retired is None:
            return
        low, high = theap.retired
        theap.retired = None
        for size in sorted(size for size in theap.queues if low <= size <= high):
            for page in theap.queues[size].pages[: self.retired_pages]:
                if page.retire == 0:
                    break
                if page.used:
                    page.retire = 0
                    continue
                page.retire = 0 if force else page.retire - 1
                if page.retire:
                    theap.note_retired(size)
                else:
                    self._free_page(page)
