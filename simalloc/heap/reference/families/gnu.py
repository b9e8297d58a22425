"""GNU malloc of 1993 and 1995: pages by next fit, and fragments of a power of two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.parts.page_runs import PagedHeap
from simalloc.heap.reference.space import State
from simalloc.policy.families.gnu import Gnu


@dataclass(eq=False)
class FragmentPage:
    """A page of fragments of one size.

    Free fragments are taken from the end of `freed`, and then from the high end of `uncut`. The
    block `uncut` was never cut and begins with the page's second fragment.
    """

    address: int
    size: int
    uncut: int | None
    freed: list[int] = field(default_factory=list)


class GnuHeap(PagedHeap):
    """GNU malloc (policy/families/gnu.md)."""

    def __init__(self, description: Gnu) -> None:
        super().__init__(description.page, description.smallest_fragment)
        self._returned = description.returned
        # Bytes per page in the table at the heap's start; 0 without mechanism.
        self._entry = 3 * description.word if description.mechanism else 0
        self._table: int | None = None
        # Number of pages for which the table was made; its last page may have space for more.
        self._entries = 1024
        self._pages: dict[int, FragmentPage] = {}
        # Pages with a free fragment, by fragment size. The last page of a size is used first.
        self._with_room: dict[int, dict[int, FragmentPage]] = {}
        # Run where the next search starts, or None to start at the lowest run.
        self._index: int | None = None
        # End of the pages that the allocator knows; a table above them is excluded.
        self._limit = 0

    def malloc(self, size: int) -> int:
        """Take a fragment or whole pages; the first call makes the table."""
        if self._entry and self._table is None:
            self._table = self._new_table()
        self.visited = 0
        return self._allocate(size)

    def free(self, address: int) -> None:
        """Free a fragment or pages; a page whose fragments are all free is freed."""
        page = self._pages.get(self._page_of(address))
        if page is None:
            self._free_pages(address)
        else:
            self._free_fragment(page, address)

    def reallocate(self, address: int, size: int) -> int:
        """Stay if possible. Pages that must grow are freed first, and may be extended in place."""
        if self.reallocate_in_place(address, size):
            return address
        if self._page_of(address) not in self._pages and size > self._page // 2:
            self._demand_growth(address, round_up(size, self._page))
            self._free_pages(address, give_back=False)
            return self.front.malloc(size)
        moved = self.front.malloc(size)
        self.front.free(address)
        return moved

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Keep a fragment of the same size, or pages if they suffice; free the excess pages."""
        held = self.block_size(address)
        if self._page_of(address) in self._pages:
            return held // 2 < size <= held
        needed = round_up(size, self._page)
        if size <= self._page // 2 or needed > held:
            return False
        if needed < held:
            self._free_pages(self._split(address, needed))
        return True

    def cached(self) -> list[int]:
        """Return the free fragments; the uncut fragments of a page count as one."""
        pages = [page for pages in self._with_room.values() for page in pages.values()]
        uncut = [page.uncut for page in pages if page.uncut is not None]
        return [*uncut, *(fragment for page in pages for fragment in page.freed)]

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        assert self._index is None or self._index in self._runs, "the index is at a free run"
        assert self._limit <= self.brk

    def _allocate(self, size: int) -> int:
        size = self.rounded(size)
        return self._allocate_fragment(size) if size < self._page else self._allocate_pages(size)

    def _allocate_pages(self, size: int) -> int:
        """Take the first run from the index on that is large enough; else raise the break."""
        for run in self._from_index():
            self.visited += 1
            if self.block_size(run) >= size:
                break
        else:
            last = self._runs[-1] if self._runs else None
            if last is None or not self._known_end(last):
                return self._more_pages(size)
            new = self._more_pages(size - self.block_size(last))
            self.blocks.mark(new, State.FREE)
            run = self._runs[-1]
            self._coalesce(run)
        place = self._runs.index(run)
        self._take_run(run, size)
        self._index = self._runs[place] if place < len(self._runs) else None
        return run

    def _from_index(self) -> Iterator[int]:
        """Iterate around the free runs in address order, starting at the index."""
        start = 0 if self._index is None else self._runs.index(self._index)
        yield from self._runs[start:]
        yield from self._runs[:start]

    def _known_end(self, run: int) -> bool:
        """Return whether a run ends both at the end of the known pages and at the break."""
        return run + self.block_size(run) == self._limit == self.brk

    def _demand_growth(self, address: int, size: int) -> None:
        """Raise `Refused` if pages, once freed, could not be allocated again with `size` bytes."""
        near = self.blocks.free_neighbours(address)
        merged = sum(map(self.block_size, [address, *near]))
        start = min([address, *near])
        after = {run: self.block_size(run) for run in self._runs if run not in near}
        after[start] = merged
        if max(after.values()) >= size:
            return
        last = max(after)
        known = last + after[last] == self._limit == self.brk
        self._demand_room(size - after[last] if known else size)

    def _demand_room(self, size: int) -> None:
        """Raise `Refused` if the capacity does not allow `size` bytes and the table for them."""
        entries = self._entries_for(self.brk + size)
        grows = self._table is not None and entries > self._entries
        self.blocks.take_room(size + (self._table_bytes(entries) if grows else 0))

    def _more_pages(self, size: int) -> int:
        """Raise the break; replace the table by a longer one if it has too few entries."""
        self._demand_room(size)
        entries = self._entries_for(self.brk + size)
        address = self._grow(size)
        end = self.brk
        if self._table is not None and entries > self._entries:
            self._entries = entries
            old, self._table = self._table, self._new_table()
            self._free_pages(old)
        self._limit = end
        return address

    def _entries_for(self, end: int) -> int:
        """Return the number of table entries for a heap up to `end`: doubled until sufficient."""
        entries = self._entries
        while end // self._page + 1 > entries:
            entries *= 2
        return entries

    def _table_bytes(self, entries: int) -> int:
        return round_up(entries * self._entry, self._page)

    def _new_table(self) -> int:
        table = self._grow(self._table_bytes(self._entries))
        self.blocks.mark(table, State.TABLE)
        return table

    def _free_pages(self, address: int, *, give_back: bool = True) -> None:
        """Free a run; if it is the last run and long enough, lower the break by all of it."""
        run = self._free_run(address)
        size = self.block_size(run)
        self._index = run
        if give_back and size >= self._returned and self._known_end(run):
            self._give_back(run, size)
            self._limit -= size
            self._index = self._runs[-1] if self._runs else None

    def _allocate_fragment(self, size: int) -> int:
        """Take a free fragment of the page that was made, or stopped being full, most recently."""
        pages = self._with_room.setdefault(size, {})
        if not pages:
            address = self._allocate_pages(self._page)
            uncut = self.blocks.cut(address, size)
            self.blocks.mark(uncut, State.CACHED)
            self._pages[address] = pages[address] = FragmentPage(address, size, uncut)
            return address
        self.visited += 1
        page = pages[next(reversed(pages))]
        fragment = self._next_fragment(page)
        if not self._room(page):
            del pages[page.address]
        self.blocks.mark(fragment, State.ALLOCATED)
        return fragment

    def _next_fragment(self, page: FragmentPage) -> int:
        """Remove and return the next free fragment of a page."""
        if page.freed:
            return page.freed.pop()
        assert page.uncut is not None, "the page has a free fragment"
        fragment = page.uncut
        if self.block_size(fragment) == page.size:
            page.uncut = None
            return fragment
        return self.blocks.cut(fragment, self.block_size(fragment) - page.size)

    def _free_fragment(self, page: FragmentPage, fragment: int) -> None:
        """Free a fragment behind the page's first free one; a full page becomes the first page.

        An entirely free page is freed.
        """
        self.blocks.mark(fragment, State.CACHED)
        pages = self._with_room[page.size]
        room = self._room(page)
        if not room:
            pages[page.address] = page
            page.freed.append(fragment)
            return
        first = self._next_fragment(page)
        page.freed += [fragment, first]
        if room + 1 == self._page // page.size:
            del pages[page.address]
            del self._pages[page.address]
            self._join_page(page.address)
            self._free_pages(page.address)

    def _room(self, page: FragmentPage) -> int:
        """Return the number of free fragments of a page."""
        uncut = 0 if page.uncut is None else self.block_size(page.uncut) // page.size
        return len(page.freed) + uncut
