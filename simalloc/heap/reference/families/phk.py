"""PhK malloc: pages by first fit, and chunks of a power of two in separate pages."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

from simalloc.heap.reference.parts.page_runs import PagedHeap
from simalloc.heap.reference.space import Refused, State
from simalloc.policy.families.phk import PageOrder, Phk


@dataclass(eq=False)
class ChunkPage:
    """A page of chunks of one size.

    Free chunks are the chunks in `freed`, in address order, and all chunks from `uncut` on, which
    are still one block.
    """

    address: int
    size: int
    total: int
    uncut: int | None
    freed: list[int] = field(default_factory=list)
    descriptor: int | None = None
    """Chunk in another page that describes this page, or None if the page describes itself."""


class PhkHeap(PagedHeap):
    """PhK malloc (policy/families/phk.md)."""

    def __init__(self, description: Phk) -> None:
        super().__init__(description.page, description.smallest)
        self._keep = description.keep
        self._order = description.chunk_pages
        self._describes = description.mechanism
        self._word = description.word
        self._pages: dict[int, ChunkPage] = {}
        # Pages with a free chunk, by chunk size, in the order of a search.
        self._with_room: dict[int, list[ChunkPage]] = {}
        # Descriptors of the free runs by the run's address, and the spare descriptor.
        self._descriptors: dict[int, int] = {}
        self._spare: int | None = None
        # Segment with the directory: one entry per page, as many entries as fit in its pages.
        self._directory: int | None = None

    def malloc(self, size: int) -> int:
        """Take a chunk or whole pages; the first call makes the spare run descriptor."""
        if self._describes and self._directory is None:
            self._map_directory(self._page)
            self._spare = self._new_descriptor(5 * self._word)
        self.visited = 0
        return self._allocate(size)

    def free(self, address: int) -> None:
        """Free a chunk or pages; a page whose chunks are all free is freed immediately."""
        visited = self.visited
        page = self._pages.get(self._page_of(address))
        if page is None:
            self._free_pages(address)
        else:
            self._free_chunk(page, address)
        self.visited = visited

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Keep pages if the new size needs the same number.

        Keep a chunk if the new size is smaller than it, and if the new size exceeds half of it or
        the chunk has the smallest size.
        """
        held = self.block_size(address)
        if self._page_of(address) not in self._pages:
            return held - self._page < size <= held
        return size < held and (size > held // 2 or held == self._smallest)

    def cached(self) -> list[int]:
        """Return the free chunks; the uncut chunks of a page count as one."""
        chunks = [chunk for page in self._pages.values() for chunk in page.freed]
        uncut = [page.uncut for page in self._pages.values() if page.uncut is not None]
        return [*chunks, *uncut]

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        for size, pages in self._with_room.items():
            room = [page for page in self._pages.values() if page.size == size]
            assert {id(page) for page in pages} == {id(page) for page in room if self._room(page)}
        if self._describes:
            assert sorted(self._descriptors) == list(self._runs), "each run has a descriptor"

    def _allocate(self, size: int) -> int:
        size = self.rounded(size)
        return self._allocate_chunk(size) if size < self._page else self._allocate_pages(size)

    def _allocate_pages(self, size: int) -> int:
        """Take the lowest run that is large enough; else raise the break by the whole request."""
        run = self._first_fit(size)
        if run is None:
            return self._more_pages(size)
        descriptor = self._descriptors.pop(run, None)
        whole = self.block_size(run) == size
        self._take_run(run, size)
        if descriptor is None:
            return run
        if not whole:
            self._descriptors[run + size] = descriptor
        elif self._spare is None:
            self._spare = descriptor
        else:
            self.free(descriptor)
        return run

    def _first_fit(self, size: int) -> int | None:
        """Return the lowest run of at least `size`."""
        run: int
        for run in self._runs:
            self.visited += 1
            if self.block_size(run) >= size:
                return run
        return None

    def _more_pages(self, size: int) -> int:
        """Raise the break; the directory moves to a larger segment if it has too few entries."""
        directory = self._new_directory_bytes(self.brk + size)
        self.blocks.take_room(size + directory)
        address = self._grow(size)
        if directory:
            self._map_directory(directory)
        return address

    def _new_directory_bytes(self, end: int) -> int:
        """Return the size of the larger directory that a heap up to `end` needs, or 0."""
        if self._directory is None:
            return 0
        # The directory's first entries are the heads of the lists of pages, one per power of two.
        entries = self._page.bit_length() - 1 + end // self._page
        if entries < self.block_size(self._directory) // self._word:
            return 0
        return ((entries - 1) * self._word // self._page + 2) * self._page

    def _map_directory(self, size: int) -> None:
        old = self._directory
        self._directory = self.blocks.map_segment(size)
        self.blocks.mark(self._directory, State.TABLE)
        if old is not None:
            self.blocks.unmap_segment(old)

    def _allocate_chunk(self, size: int) -> int:
        """Take the lowest free chunk of the first page with a free chunk."""
        pages = self._with_room.setdefault(size, [])
        if pages:
            self.visited += 1
        else:
            page = self._cut_page(size)
            pages.insert(0, page)
        page = pages[0]
        chunk = page.freed.pop(0) if page.freed else self._cut_chunk(page)
        self.blocks.mark(chunk, State.ALLOCATED)
        if not self._room(page):
            pages.remove(page)
        return chunk

    def _cut_page(self, size: int) -> ChunkPage:
        """Make a page of chunks, described in its first chunks or in a chunk of another page."""
        address = self._allocate_pages(self._page)
        count = self._page // size
        page = ChunkPage(address, size, count, address)
        if self._describes:
            length = 8 + 2 * self._word + 4 * -(-count // 32)
            if size <= 2 * length:
                taken = -(-length // size)
                page.total -= taken
                page.uncut = self.blocks.cut(address, taken * size)
                self.blocks.mark(address, State.TABLE)
            else:
                try:
                    page.descriptor = self._new_descriptor(length)
                except Refused:
                    self._free_pages(address)
                    raise
        assert page.uncut is not None
        self.blocks.mark(page.uncut, State.CACHED)
        self._pages[address] = page
        return page

    def _cut_chunk(self, page: ChunkPage) -> int:
        """Cut the lowest chunk off the uncut part."""
        chunk = page.uncut
        assert chunk is not None
        last = self.block_size(chunk) == page.size
        page.uncut = None if last else self.blocks.cut(chunk, page.size)
        return chunk

    def _free_chunk(self, page: ChunkPage, chunk: int) -> None:
        self.blocks.mark(chunk, State.CACHED)
        insort(page.freed, chunk)
        pages = self._with_room[page.size]
        if self._room(page) == 1:
            pages.insert(self._place(pages, page.address), page)
        elif self._room(page) == page.total:
            pages.remove(page)
            del self._pages[page.address]
            if page.descriptor is not None:
                self.free(page.descriptor)
            self._join_page(page.address)
            self._free_pages(page.address)

    def _place(self, pages: list[ChunkPage], address: int) -> int:
        """Return a page's place in its list; `almost` stops one place too early."""
        if self._order is PageOrder.NEWEST:
            return 0
        place = sum(page.address < address for page in pages)
        if self._order is PageOrder.ADDRESS:
            return place
        place = 0
        while place + 1 < len(pages) and pages[place + 1].address < address:
            place += 1
        return place

    def _free_pages(self, address: int) -> None:
        """Free a run; lower the break if the last run has more bytes than are kept.

        The pages are lost if memory for the run's descriptor is refused.
        """
        if self._describes and self._spare is None:
            try:
                self._spare = self._new_descriptor(5 * self._word)
            except Refused:
                self.blocks.mark(address, State.WASTE)
                return
        run = self._free_run(address)
        surplus = self._describe(run, address) if self._describes else None
        over = self.block_size(run) - self._keep
        if over > 0 and run + self.block_size(run) == self.brk:
            self._give_back(run, over)
        if surplus is not None:
            self.free(surplus)

    def _describe(self, run: int, freed: int) -> int | None:
        """Assign a descriptor to a run that pages at `freed` joined; return a surplus descriptor.

        If two runs became one, the lower run's descriptor stays.
        """
        below = self._descriptors.get(run) if run < freed else None
        end = run + self.block_size(run)
        above = next((at for at in self._descriptors if freed < at < end), None)
        if below is not None:
            return None if above is None else self._descriptors.pop(above)
        if above is not None:
            self._descriptors[run] = self._descriptors.pop(above)
        else:
            assert self._spare is not None
            self._descriptors[run] = self._spare
            self._spare = None
        return None

    def _new_descriptor(self, size: int) -> int:
        descriptor = self._allocate(size)
        self.blocks.mark(descriptor, State.TABLE)
        return descriptor

    def _room(self, page: ChunkPage) -> int:
        """Return the number of free chunks of a page."""
        uncut = 0 if page.uncut is None else self.block_size(page.uncut) // page.size
        return len(page.freed) + uncut
