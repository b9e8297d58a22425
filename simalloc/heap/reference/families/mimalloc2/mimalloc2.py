"""mimalloc 2 (simalloc/policy/families/mimalloc.md)."""

from __future__ import annotations

from collections.abc import Iterable

from simalloc.heap.reference.families.mimalloc.block_sizes import (
    KIB,
    SLICE,
    block_size,
    lowest_bit,
    round_up,
    system_size,
)
from simalloc.heap.reference.families.mimalloc.heap import SMALL, MimallocHeap
from simalloc.heap.reference.families.mimalloc2.page import (
    LARGEST_IN_SEGMENT,
    LARGEST_MEDIUM,
    LARGEST_SMALL,
    Delayed,
    Page,
    first_offset,
    slices_for,
)
from simalloc.heap.reference.families.mimalloc2.segment import SEGMENT, Segment, Segments
from simalloc.heap.reference.families.mimalloc2.theap import Abandoned, Theap
from simalloc.heap.reference.space import State, needed_by_allocator
from simalloc.policy.families.mimalloc import Mimalloc

_ALIGNED_UP_TO = 128
"""Maximum bytes of a block that is assumed to be aligned to its size."""

_TRIED_TO_RECLAIM = 8
"""Maximum number of abandoned segments that a thread visits before it gets a new segment."""

_TRIED_AT_END = 1024
"""Maximum number of visits of abandoned segments at thread exit."""

_VISITS = 3
"""Number of visits after which an abandoned segment is always reclaimed."""

_RECORD = 8 * KIB
"""Bytes that every thread but the main one maps for its state."""

_RECORDS_KEPT = 8


class Mimalloc2Heap(MimallocHeap[Page, Theap]):
    """Pages of blocks of one size, in segments that are cut into spans."""

    largest_small = LARGEST_SMALL
    retired_for = 9, 3
    retired_pages = 1
    extended = 4 * KIB, 4

    def __init__(self, description: Mimalloc) -> None:
        super().__init__(description, Theap(record=None))
        self._segments = Segments(self, description)
        self._abandoned = Abandoned()
        self._records: list[int] = []  # records of threads that have exited
        self._origin: int | None = None

    def malloc(self, size: int) -> int:
        """Take a block; addresses are reported relative to the first block's segment."""
        address = super().malloc(size)
        if self._origin is None:
            self._origin = self._page_of(address).segment.relative
        return address

    def rounded(self, size: int) -> int:
        """Return the block size for requests of `size` bytes."""
        if size <= LARGEST_MEDIUM:
            return block_size(size)
        asked = system_size(size, 4 * KIB)
        return slices_for(asked) * SLICE if asked <= LARGEST_IN_SEGMENT else round_up(asked, SLICE)

    def give_back(self) -> None:
        """Collect all memory of the thread, and decommit all waiting slices."""
        self._calls += 1
        theap = self._theaps.get(self.request.thread)
        if theap is not None:
            self._collect(theap, ends=False)
        self._segments.purge_cache(self._now, force=True)

    def figures(self) -> dict[str, int]:
        """Return the committed bytes, as `mi_process_info` reports them."""
        return {"committed": self._segments.committed}

    def locate(self, address: int) -> tuple[int, int, int]:
        """Return an object's distance from the segment of the program's first object."""
        segment = self._page_of(address).segment
        return 0, 0, segment.relative + address - segment.start - (self._origin or 0)

    def listed(self) -> Iterable[int]:
        """Return the free blocks and unused parts of all pages, and the free spans."""
        yield from self._free_in_pages()
        for segment in {page.segment for page in self._pages.values()}:
            yield from segment.free_spans()
        for segment in self._segments.kept():
            yield segment.start + self._segments.first * SLICE
        yield from self._segments.free_parts()
        for theap in self._theaps.values():
            yield from theap.delayed

    def _end(self, theap: Theap) -> None:
        for page in theap.all_pages():
            page.delayed = Delayed.NEVER
        self._collect(theap, ends=True)
        self._segments.purge_cache(self._now)
        if theap.record is not None:
            self._give_record(theap.record)

    def _collect(self, theap: Theap, *, ends: bool) -> None:
        """Collect all memory of a thread, and the abandoned segments."""
        self._take_delayed(theap)
        self._collect_finally(theap, ends=ends)
        self._collect_abandoned(theap, force=not ends)

    def _theap_of_caller(self) -> Theap:
        """Return the state of the request's thread, made at its first malloc."""
        thread = self.request.thread
        if thread not in self._theaps:
            self._theaps[thread] = Theap(record=self._take_record())
        return self._theaps[thread]

    def _take_record(self) -> int | None:
        if not self._mechanism:
            return None
        if self._records:
            return self._records.pop()
        with needed_by_allocator():
            record = self.blocks.map_segment(_RECORD)
        self.blocks.mark(record, State.TABLE)
        self.touch(record, _RECORD)
        self._segments.committed += _RECORD
        return record

    def _give_record(self, record: int) -> None:
        if len(self._records) < _RECORDS_KEPT:
            self._records.append(record)
            return
        self.blocks.unmap_segment(record)
        self._segments.committed -= _RECORD

    def _allocate_generic(self, theap: Theap, size: int) -> int:
        self.visited = 0
        self._take_delayed(theap)
        return self._take(self._find_page(theap, size))

    def _allocate_aligned(self, theap: Theap, size: int, alignment: int) -> int:
        """Take an aligned block, one assumed to be aligned, or the end of a larger block."""
        if alignment <= size <= SMALL:
            following = theap.next_block(block_size(size))
            is_next = following is not None and following % alignment == 0
            is_multiple = size <= _ALIGNED_UP_TO and size % alignment == 0
            if size == lowest_bit(size) or is_next or is_multiple:
                return self._allocate(theap, size)
        return self._align_inside(self._allocate(theap, size + alignment - 1), alignment)

    def _find_page(self, theap: Theap, size: int) -> Page:
        """Return a page with a free block: the first page that is not full, or a new page."""
        if size > LARGEST_MEDIUM:
            return self._new_single(theap, system_size(size, 4 * KIB))
        wanted = block_size(size)
        while True:
            page = self._first_with_room(theap, theap.queue(wanted).pages)
            if page is None:
                self._collect_retired(theap)
                page = self._new_page(theap, wanted, slices_for(wanted))
            if page is not None:
                page.retire = 0
                return page

    def _first_with_room(self, theap: Theap, queue: list[Page]) -> Page | None:
        while queue:
            page = queue[0]
            self.visited += 1
            page.collect()
            if not page.free and page.is_expandable:
                self._extend(page)
            if page.free:
                return page
            queue.remove(page)
            page.is_full = True
            theap.queue_of(page).pages.append(page)
        return None

    def _new_single(self, theap: Theap, size: int) -> Page:
        """Make a page of one block, which may have its own segment."""
        if size > LARGEST_IN_SEGMENT:
            segment = self._segments.take_huge(size)
            segment.owner = theap
            return self._make_page(theap, segment, self._segments.first, round_up(size, SLICE))
        slices = slices_for(size)
        page = None
        while page is None:
            page = self._new_page(theap, slices * SLICE, slices)
        return page

    def _new_page(self, theap: Theap, size: int, slices: int) -> Page | None:
        """Make a page; return None if a page with a free block was reclaimed instead."""
        while True:
            for segment, index in theap.spans_from(slices):
                if segment.spans[index][0] >= slices:
                    return self._use_span(theap, segment, index, size, slices)
            segment_taken, has_page = self._reclaim(theap, size, slices)
            if has_page:
                return None
            if segment_taken is None:
                self._new_segment(theap)

    def _use_span(self, theap: Theap, segment: Segment, index: int, size: int, slices: int) -> Page:
        """Make a page from the low end of a free span."""
        count, _ = segment.spans[index]
        theap.remove_span(segment, index, count)
        if count > slices:
            self.blocks.cut(segment.start + index * SLICE, slices * SLICE)
            self._free_span(segment, index + slices, count - slices)
        segment.spans[index] = slices, None
        self._segments.use(segment, index, slices, self._now)
        page = self._make_page(theap, segment, index, size)
        self._segments.decommit_due(segment, self._now)
        return page

    def _make_page(self, theap: Theap, segment: Segment, index: int, size: int) -> Page:
        """Turn a free span into a page, the first of its queue."""
        slices, _ = segment.spans[index]
        start = segment.start + index * SLICE
        offset = first_offset(size) if self._mechanism else 0
        reserved = 1 if size > LARGEST_MEDIUM else (slices * SLICE - offset) // size
        page = Page(
            start, slices, size, start + offset, reserved, segment=segment, index=index, owner=theap
        )
        segment.spans[index] = slices, page
        segment.used += 1
        theap.queue_of(page).pages.insert(0, page)
        self._pages[start] = page
        self._segments.touch_records(segment, index)
        self._cut_ends(page, State.WASTE)
        self._extend(page)
        return page

    def _new_segment(self, theap: Theap) -> None:
        is_lazy = len(self._theaps) > 1 and theap.segments < self._options.eager_commit_delay
        is_eager = self._options.eager_commit and not is_lazy
        segment = self._segments.take(is_eager=is_eager)
        segment.owner = theap
        theap.segments += 1
        theap.add_span(segment, self._segments.first, segment.spans[self._segments.first][0])

    def _free_page(self, page: Page) -> None:
        """Free a page as a span; free or abandon its segment if no owned page is left there."""
        segment, theap = page.segment, page.owner
        assert theap is not None, "the page has an owner"
        theap.queue_of(page).pages.remove(page)
        self._clear_page(page)
        if segment.used == 0:
            self._give_segment(segment)
        elif segment.used == segment.abandoned:
            self._abandon_segment(segment)

    def _clear_page(self, page: Page) -> int:
        """Turn a page into a free span, merged with its free neighbours; return its first slice."""
        segment, start = page.segment, page.segment.start + page.index * SLICE
        end = start + page.slices * SLICE
        if segment.is_huge:
            end = segment.start + segment.size
        self.blocks.mark(start, State.FREE)
        while start + self.blocks.size[start] < end:
            self.blocks.join(start)
        del self._pages[start]
        segment.used -= 1
        segment.spans[page.index] = page.slices, None
        return page.index if segment.is_huge else self._merge_span(segment, page.index)

    def _merge_span(self, segment: Segment, index: int) -> int:
        """Merge an unlisted free span with its neighbours, and enter the merged span."""
        index, count, taken = segment.merge(index)
        for other, size in taken:
            if segment.owner is not None:
                segment.owner.remove_span(segment, other, size)
        self._join_span(segment, index, count)
        self._free_span(segment, index, count)
        self._segments.leave(segment, index, count, self._now)
        return index

    def _free_span(self, segment: Segment, index: int, count: int) -> None:
        """Enter a free span in the owner's queues, if the segment has an owner."""
        segment.spans[index] = count, None
        if segment.owner is not None:
            segment.owner.add_span(segment, index, count)
        self._segments.touch_records(segment, index)

    def _join_span(self, segment: Segment, index: int, count: int) -> None:
        start = segment.start + index * SLICE
        while self.blocks.size[start] < count * SLICE:
            self.blocks.join(start)

    def _give_segment(self, segment: Segment) -> None:
        """Free a segment without pages, and its free spans."""
        owner = segment.owner
        if owner is not None and not segment.is_huge:
            for index, (count, _) in segment.spans.items():
                owner.remove_span(segment, index, count)
            owner.segments -= 1
        self._segments.give(segment, self._now)

    def _free_for(self, theap: Theap | None, address: int) -> None:
        """Free a block on behalf of a thread."""
        page = self._page_of(address)
        block = self._free_block(page, address)
        is_own = page.owner is not None and page.owner is theap
        if is_own:
            self._free_own(page, block)
        elif page.delayed is Delayed.USE:
            assert page.owner is not None, "a page without an owner delays no frees"
            page.owner.delayed.append(block)
            page.delayed = Delayed.NO
        else:
            page.remote.append(block)
        if page.segment.is_huge and not page.segment.is_reserved and not is_own:
            self.discard(block, page.block_size)

    def _free_own(self, page: Page, block: int) -> None:
        theap = page.owner
        assert theap is not None, "the owner frees a block"
        page.local.append(block)
        page.used -= 1
        if page.used == 0:
            self._retire(theap, page)
        elif page.is_full:
            theap.queue_of(page).pages.remove(page)
            page.is_full = False
            theap.queue_of(page).pages.append(page)

    def _take_delayed(self, theap: Theap) -> None:
        """Free the blocks of the thread's pages that others freed, the newest first."""
        waiting, theap.delayed = theap.delayed, []
        for block in reversed(waiting):
            page = self._page_of(block)
            if page.delayed is Delayed.NO:
                page.delayed = Delayed.USE
            page.collect()
            self._free_own(page, block)

    def _abandon(self, page: Page) -> None:
        """Remove the owner of a page, and of its segment if all pages there are abandoned."""
        theap, segment = page.owner, page.segment
        assert theap is not None
        theap.queue_of(page).pages.remove(page)
        page.owner, page.is_full = None, False
        segment.abandoned += 1
        if segment.used == segment.abandoned:
            self._abandon_segment(segment)

    def _abandon_segment(self, segment: Segment) -> None:
        theap = segment.owner
        assert theap is not None
        if not segment.is_huge:
            for index, (count, page) in segment.spans.items():
                if page is None:
                    theap.remove_span(segment, index, count)
            theap.segments -= 1
        self._segments.decommit_due(segment, self._now)
        segment.owner = None
        segment.visits = 1
        self._abandoned.push(segment)

    def _collect_abandoned(self, theap: Theap, *, force: bool = False) -> None:
        """Free the empty pages of abandoned segments, and segments without other pages."""
        if force:
            self._abandoned.revisit()
        for _ in range(_TRIED_AT_END * (16 if force else 1)):
            segment = self._abandoned.pop()
            if segment is None:
                return
            self._free_empty_pages(segment)
            if segment.used == 0:
                self._take_over(segment, theap)
            else:
                self._segments.decommit_due(segment, self._now, force=force)
                self._abandoned.push_visited(segment)

    def _reclaim(self, theap: Theap, size: int, slices: int) -> tuple[Segment | None, bool]:
        """Take over an abandoned segment with a free block or a free span for a size.

        Returns the segment or None, and whether it has a page with a free block.
        """
        for _ in range(_TRIED_TO_RECLAIM):
            segment = self._abandoned.pop()
            if segment is None:
                break
            segment.visits += 1
            self._free_empty_pages(segment)
            if segment.used == 0:
                self._take_over(segment, theap)
            elif self._serves(segment, size, slices):
                self._take_over(segment, theap)
                pages = segment.pages()
                return segment, any(p.block_size == size and p.used < p.reserved for p in pages)
            elif segment.visits > _VISITS:
                self._take_over(segment, theap)
            else:
                self._segments.decommit_due(segment, self._now, force=True)
                self._abandoned.push_visited(segment)
        return None, False

    @staticmethod
    def _serves(segment: Segment, size: int, slices: int) -> bool:
        """Return whether a segment has a free span of `slices`, or a page with a free block."""
        return any(
            count >= slices
            if page is None
            else page.block_size == size and page.used < page.reserved
            for count, page in segment.spans.values()
        )

    def _free_empty_pages(self, segment: Segment) -> None:
        """Collect the pages of an abandoned segment, and free pages without a used block."""
        for page in segment.pages():
            page.collect()
            if page.used == 0:
                segment.abandoned -= 1
                self._clear_page(page)

    def _take_over(self, segment: Segment, theap: Theap) -> None:
        """Make a thread the owner of an abandoned segment and its pages, which are not empty."""
        segment.owner, segment.visits = theap, 0
        theap.segments += not segment.is_huge
        index = self._segments.first
        while index < SEGMENT // SLICE and index in segment.spans:
            _, page = segment.spans[index]
            if page is not None:
                segment.abandoned -= 1
                page.owner, page.delayed = theap, Delayed.USE
                theap.queue_of(page).pages.insert(0, page)
            elif not segment.is_huge:
                index = self._merge_span(segment, index)
            index += segment.spans[index][0]
        if segment.used == 0:
            self._give_segment(segment)
