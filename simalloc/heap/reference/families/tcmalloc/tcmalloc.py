"""gperftools' tcmalloc (policy/families/tcmalloc.md)."""

from __future__ import annotations

from bisect import bisect_left

from simalloc.heap.reference.families.tcmalloc.central_free_list import CentralFreeList, Span
from simalloc.heap.reference.families.tcmalloc.metadata import METADATA_PIECE
from simalloc.heap.reference.families.tcmalloc.page_heap import Kind, SpanHeap
from simalloc.heap.reference.families.tcmalloc.size_map import (
    LARGEST,
    SizeClass,
    rounded_request,
    size_classes,
)
from simalloc.heap.reference.families.tcmalloc.thread_caches import Caches, ThreadCache
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State, needed_by_allocator
from simalloc.policy.families.tcmalloc import Tcmalloc

_POOL_OF_EXCEPTIONS = 72704
"""Bytes that the C++ library allocates at the start of a program that loads it."""

_THREAD_BLOCK = 304
"""Bytes that the C library allocates for each started thread, with the libraries loaded here."""

_IDLE_RECORDS = 2
"""Number of span records that the library makes first, which moves the later records to other cache
lines."""

_UNUSED = SizeClass(1, 1, 1)
"""Class 0, which no request uses; other classes can take its chain slots."""


class TcmallocHeap(SpanHeap):
    """A cache per thread, over central lists of spans, over a heap of pages."""

    def __init__(self, description: Tcmalloc) -> None:
        super().__init__(description)
        self.word = description.word
        self._start = description.heap_start
        self._has_prelude = description.mechanism
        kinds = [_UNUSED, *size_classes(self.page, description.transfer_num_obj)]
        self._sizes = [kind.size for kind in kinds]
        self.central_lists = [
            CentralFreeList(self, number, kind) for number, kind in enumerate(kinds)
        ]
        self.caches = Caches(self, description.max_total_thread_cache_bytes)
        self._span_at: dict[int, Span] = {}
        self._turn = 0

    def malloc(self, size: int) -> int:
        """Take a block of the size's class, or whole pages."""
        if self._has_prelude:
            self._start_program()
        self.visited = 0
        alignment = self.request.alignment
        if alignment > self.page:
            address = self._allocate_aligned(size, alignment)
        else:
            address = self._allocate(round_up(size, max(alignment, 1)))
        if self.request.is_zeroed:
            self.touch(address, size)
        return address

    def free(self, address: int) -> None:
        """Put the block into the cache of the freeing thread, or free its pages."""
        if address // self.page not in self._span_at:
            self.free_span(address)
            return
        central = self.central_lists[self.span_of(address).number]
        cache = self.caches.existing(self.request.thread)
        if cache:
            cache.free(address, central)
        else:
            central.insert([address])

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Stay if the block is large enough and not too large."""
        held = self.block_size(address)
        if self._is_old:
            return held // 2 <= size <= held
        return self.rounded(size) == held

    def reallocate(self, address: int, size: int) -> int:
        """Stay if the size fits well; else copy, in 2.10 with space for growth."""
        if self.reallocate_in_place(address, size):
            return address
        self.visited = 0
        held = self.block_size(address)
        wanted = size
        if self._is_old and held < size < held + held // 4:
            wanted = held + held // 4
        new = self._allocate(wanted)
        self.touch(new, min(held, size))
        self.free(address)
        return new

    def rounded(self, size: int) -> int:
        """Return the size of the request's class, or of its pages."""
        if size > LARGEST:
            return round_up(size, self.page)
        return self._central_for(size).kind.size

    def end_thread(self) -> None:
        """Release the cache of the thread."""
        self.caches.end(self.request.thread)

    def give_back(self) -> None:
        """Return all free pages to the system, as the program can request."""
        self.release_spans(self.free_pages(Kind.NORMAL))

    def figures(self) -> dict[str, int]:
        """Return the library's own statistics."""
        return {
            "heap": self.system * self.page,
            "ph_free": self.free_pages(Kind.NORMAL) * self.page,
            "ph_returned": self.free_pages(Kind.RETURNED) * self.page,
            "thread_caches": sum(cache.size for cache in self.caches),
            "centre": sum(central.free_bytes for central in self.central_lists),
            "transfer": sum(central.chained_bytes for central in self.central_lists),
            "metadata": self.metadata.taken if self.metadata else 0,
        }

    def locate(self, address: int) -> tuple[int, int, int]:
        """Return the offset of a block from the first memory of spans."""
        return 0, 0, address - (METADATA_PIECE if self.metadata else 0)

    def listed(self) -> list[int]:
        """Return the free spans, and the free blocks of the other spans."""
        blocks = [block for central in self.central_lists for block in central.listed()]
        return [*self._kind, *blocks]

    def cached(self) -> list[int]:
        """Return the blocks in thread caches and in transfer caches."""
        chained = [block for central in self.central_lists for block in central.chained()]
        return [*chained, *(block for cache in self.caches for block in cache.blocks())]

    def span_of(self, block: int) -> Span:
        """Return the span from which a block was cut."""
        return self._span_at[block // self.page]

    def enter_span(self, span: Span, pages: int) -> None:
        """Record that these pages were cut into blocks."""
        first = span.address // self.page
        self._span_at |= dict.fromkeys(range(first, first + pages), span)

    def leave_span(self, span: Span, pages: int) -> None:
        """Remove the record that these pages were cut into blocks."""
        first = span.address // self.page
        for page in range(first, first + pages):
            del self._span_at[page]

    def evict_size_class(self, taker: CentralFreeList, *, forced: bool) -> bool:
        """Take a slot from the transfer cache whose turn it is; return whether it had one.

        Upstream's counter is not incremented when it wraps around, therefore class 0 comes twice in
        a row.
        """
        turn = self._turn % len(self.central_lists)
        self._turn = turn if self._turn >= len(self.central_lists) else turn + 1
        victim = self.central_lists[turn]
        transfer = victim.transfer
        if victim is taker or not transfer.size or (transfer.is_full and not forced):
            return False
        was_full = transfer.is_full
        transfer.size -= 1
        if was_full:
            victim.release_list_to_spans(transfer.chains.pop())
        return True

    def count_cache(self, change: int) -> None:
        """Record that a cache is made or released."""
        if self.metadata:
            self.metadata.caches.change(change)

    def _allocate(self, size: int) -> int:
        cache = self.caches.of(self.request.thread)
        if size > LARGEST:
            return self.allocate_span(-(-size // self.page))
        block = cache.allocate(self._central_for(size))
        self.blocks.mark(block, State.ALLOCATED)
        return block

    def _allocate_aligned(self, size: int, alignment: int) -> int:
        """Take more pages than needed, and free the pages in front and behind."""
        span = self.allocate_span(-(-(size + alignment) // self.page))
        skipped = -(self._start + span) % alignment // self.page
        if skipped:
            aligned = self.split_span(span, skipped)
            self.free_span(span)
            span = aligned
        needed = -(-size // self.page)
        if self.block_size(span) > needed * self.page:
            self.free_span(self.split_span(span, needed))
        return span

    def _central_for(self, size: int) -> CentralFreeList:
        return self.central_lists[bisect_left(self._sizes, rounded_request(size))]

    def _start_program(self) -> None:
        """Make the allocations and frees that precede the program's first call."""
        self._has_prelude = False
        assert self.metadata
        self.metadata.spans.change(_IDLE_RECORDS)
        with needed_by_allocator():
            self._pass_through_caches()
            for _ in range(self.other_threads):
                self._keep(self.caches.of(0), _THREAD_BLOCK)

    def _pass_through_caches(self) -> None:
        smallest = self._central_for(1)
        if self._is_old:
            self._keep(self.caches.add(), _POOL_OF_EXCEPTIONS)
            smallest.insert(smallest.fetch(1))
            cache = self.caches.of(0)
            self._keep(cache, 8)
            self._keep(cache, 16)
        else:
            cache = self.caches.of(0)
            self._keep(cache, _POOL_OF_EXCEPTIONS)
            smallest.insert([cache.allocate(smallest)])
            cache.free(cache.allocate(smallest), smallest)

    def _keep(self, cache: ThreadCache, size: int) -> None:
        """Allocate a block that is never freed."""
        self.blocks.mark(cache.allocate(self._central_for(size)), State.TABLE)
