"""Runs of pages, for allocators that keep small objects in separate pages."""

from __future__ import annotations

from sortedcontainers import SortedList

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State


class PagedHeap(Heap):
    """A heap of whole pages in runs; adjacent free runs coalesce immediately.

    A page can be cut into chunks. Free chunks are cached and do not merge with neighbours. When all
    chunks of a page are free, they are joined into a page at once. `_runs` contains the free runs
    in address order.
    """

    def __init__(self, page: int, smallest: int = 1) -> None:
        super().__init__()
        self._smallest = smallest
        self._page = page
        self._runs: SortedList[int] = SortedList()

    def rounded(self, size: int) -> int:
        """Return the size of the chunk, a power of two, or of the whole pages for a request."""
        if size > self._page // 2:
            return round_up(size, self._page)
        chunk = self._smallest
        while chunk < size:
            chunk *= 2
        return chunk

    def listed(self) -> list[int]:
        """Return the free runs."""
        return list(self._runs)

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        assert list(self._runs) == [address for address, _ in self.blocks.in_state(State.FREE)]
        for run in self._runs:
            assert self.block_size(run) % self._page == run % self._page == 0, (
                "a run consists of whole pages"
            )
        self._check_merged()

    def _take_run(self, run: int, size: int) -> None:
        """Allocate the low end of a free run; the remainder stays free."""
        self._runs.remove(run)
        if self.block_size(run) > size:
            self._runs.add(self._split(run, size))
        self.blocks.mark(run, State.ALLOCATED)

    def _free_run(self, address: int) -> int:
        """Free pages and merge them with their free neighbours; return the run's address."""
        run = self._merge_freed(address, self._runs.remove)
        self._runs.add(run)
        return run

    def _give_back(self, run: int, size: int) -> None:
        """Lower the break by `size` bytes of the run that ends there, which has at least `size`."""
        self._runs.remove(run)
        if self.block_size(run) > size:
            self._runs.add(run)
        self._lower(size)

    def _page_of(self, address: int) -> int:
        """Return the address of the page that contains `address`."""
        return address - address % self._page

    def _join_page(self, page: int) -> None:
        """Join the chunks of a page into one block; this does not count as coalescing."""
        while self.block_size(page) < self._page:
            self.blocks.join(page)
