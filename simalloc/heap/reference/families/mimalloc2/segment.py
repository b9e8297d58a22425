"""Segments of mimalloc 2: 32 MiB that are cut into spans and committed in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.heap.reference.families.mimalloc.block_sizes import MIB, SLICE, round_up, system_size
from simalloc.heap.reference.families.mimalloc2.reserve import RESERVE_RECORD, Reserve
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.space import State
from simalloc.policy.families.mimalloc import Mimalloc

if TYPE_CHECKING:
    from simalloc.heap.reference.families.mimalloc2.page import Page
    from simalloc.heap.reference.families.mimalloc2.theap import Theap

SEGMENT = 32 * MIB

_COMMIT_UNIT = MIB // SLICE
"""Number of slices that are committed together."""

_HEADER_START = 264
"""Bytes of a segment's header in front of the records of its slices."""

_SLICE_RECORD = 80
"""Bytes of a slice's record in the header."""

_RECORD_WRITTEN = 72
"""Bytes written to the record of a span's first slice."""

_LINK_WRITTEN = 32
"""Bytes written to the record of another slice, which links to the first slice."""

_MAX_LINKED = 255
"""Maximum number of a page's slices, besides its last, that link to its first slice."""

_HEADER_SIZE = _HEADER_START + _SLICE_RECORD * (SEGMENT // SLICE + 1)

_CACHE_SLOTS = 1024
"""Maximum number of cached segments."""

_SLOTS_SEARCHED = 16
"""Number of cached segments that are checked for due decommits when another is cached."""

_MAX_PURGED = 4
"""A check of cached segments stops after it has decommitted more than this number of them."""


class Segment:
    """A segment: its spans, and bitmaps of its committed and waiting slices.

    `spans` maps each span's first slice to the span's length and its page, or None if the span is
    free. A huge segment contains only one block.
    """

    def __init__(self, start: int, relative: int, size: int, *, is_huge: bool) -> None:
        self.is_huge = is_huge
        self.start = start
        self.relative = relative
        self.size = size
        self.owner: Theap | None = None
        self.spans: dict[int, tuple[int, Page | None]] = {}
        self.used = 0
        """Number of spans that are pages."""
        self.abandoned = 0
        """Number of pages without an owner."""
        self.visits = 0
        """Number of visits since the segment was abandoned."""
        self.committed = 0
        """Bitmap of committed slices."""
        self.waiting = 0
        """Bitmap of slices that wait to be decommitted."""
        self.expire = 0
        """Time of the next decommit in ms, or 0 if none is scheduled or it is due at once."""
        self.is_reserved = False
        """True if the segment is in the reserve, which stays committed."""

    def pages(self) -> list[Page]:
        """Return the pages in address order."""
        return [page for _, (_, page) in sorted(self.spans.items()) if page is not None]

    def free_spans(self) -> list[int]:
        """Return the start addresses of the free spans."""
        return [self.start + i * SLICE for i, (_, page) in self.spans.items() if page is None]

    def merge(self, index: int) -> tuple[int, int, list[tuple[int, int]]]:
        """Merge a free span with its free neighbours; return it, and the spans merged into it."""
        count, _ = self.spans.pop(index)
        taken = []
        after = self.spans.get(index + count)
        if after is not None and after[1] is None:
            taken.append((index + count, after[0]))
            del self.spans[index + count]
            count += after[0]
        below = max((i for i in self.spans if i < index), default=None)
        if below is not None and self.spans[below][1] is None:
            taken.append((below, self.spans[below][0]))
            count += self.spans[below][0]
            index = below
        self.spans[index] = count, None
        return index, count, taken


class Segments:
    """The segments of all threads: mapped, used, and cached.

    `committed` is the allocator's own count of committed bytes.
    """

    def __init__(self, heap: Heap, description: Mimalloc) -> None:
        self.committed = 0
        self.first = 1 if description.mechanism else 0
        """First slice of a segment outside the header."""
        self._heap = heap
        self._options = description
        self._hint = 0
        self._cache: dict[int, tuple[Segment, int]] = {}
        self._reserve: Reserve | None = None

    def take(self, *, is_eager: bool) -> Segment:
        """Return a segment that is one free span: a cached segment or a new one."""
        if self._cache:
            segment, _ = self._cache.pop(min(self._cache))
            self._heap.touch(segment.start, _HEADER_SIZE if self.first else 0)
        else:
            segment = self._map(SEGMENT, is_huge=False)
            if segment.is_reserved:
                segment.committed = bits(0, SEGMENT // SLICE)
            else:
                self._begin(segment, SEGMENT // SLICE if is_eager else self.first)
            if (
                not (is_eager or segment.is_reserved) and self.first
            ):  # lazily committed memory is cleared by writing
                self._heap.touch(segment.start, _HEADER_SIZE)
        self._commit(segment, bits(0, self.first))
        segment.expire = 0
        segment.visits = segment.used = segment.abandoned = 0
        segment.spans = {self.first: (SEGMENT // SLICE - self.first, None)}
        return segment

    def take_huge(self, size: int) -> Segment:
        """Return a segment with one span for a block of `size` bytes."""
        whole = size + self.first * SLICE
        segment = self._map(whole, is_huge=True)
        self.committed += 0 if segment.is_reserved else segment.size
        slices = round_up(size, SLICE) // SLICE
        segment.spans = {self.first: (slices, None)}
        start = segment.start + self.first * SLICE
        if segment.start + segment.size > start + slices * SLICE:
            rest = self._heap.blocks.cut(start, slices * SLICE)
            self._heap.blocks.mark(rest, State.WASTE)
        return segment

    def give(self, segment: Segment, now: int) -> None:
        """Free a segment without pages: cache it, or unmap it if it is huge."""
        segment.owner = None
        if segment.is_huge:
            self._unmap(segment, self.first + sum(count for count, _ in segment.spans.values()))
            return
        self.purge_cache(now)
        slot = min(set(range(_CACHE_SLOTS)) - self._cache.keys(), default=None)
        if slot is None:
            self._unmap(segment, segment.committed.bit_count())
            return
        delay = self._options.segment_decommit_delay
        if segment.is_reserved or not segment.committed:
            self._cache[slot] = segment, 0
            return
        if self._options.allow_decommit and delay == 0:
            self._decommit(segment, segment.committed)
        self._cache[slot] = segment, now + delay

    def purge_cache(self, now: int, *, force: bool = False) -> None:
        """Decommit cached segments that are due in a few slots, or with `force` all of them."""
        if not self._options.allow_decommit:
            return
        first = 0 if force else shuffled(now) % _CACHE_SLOTS
        purged = 0
        for place in range(first, first + (_CACHE_SLOTS if force else _SLOTS_SEARCHED)):
            segment, expire = self._cache.get(place % _CACHE_SLOTS, (None, 0))
            if segment is None or expire == 0 or (now < expire and not force):
                continue
            self._cache[place % _CACHE_SLOTS] = segment, 0
            self._decommit(segment, segment.committed)
            purged += 1
            if purged > _MAX_PURGED and not force:
                return

    def use(self, segment: Segment, index: int, count: int, now: int) -> None:
        """Commit the units of slices that become used; these slices no longer wait."""
        if segment.is_huge or (
            segment.waiting == 0 and segment.committed == bits(0, SEGMENT // SLICE)
        ):
            return
        start = max(index // _COMMIT_UNIT * _COMMIT_UNIT, self.first)
        end = -(-(index + count) // _COMMIT_UNIT) * _COMMIT_UNIT
        self._commit(segment, bits(start, end - start))
        if segment.waiting & bits(start, end - start):
            segment.expire = now + self._options.decommit_delay
        segment.waiting &= ~bits(start, end - start)

    def leave(self, segment: Segment, index: int, count: int, now: int) -> None:
        """Decommit slices that have become free, at once or after a delay."""
        if not self._options.allow_decommit or segment.is_huge or segment.is_reserved:
            return
        delay, extend = self._options.decommit_delay, self._options.decommit_extend_delay
        if delay == 0:
            self._decommit(segment, bits(index, count))
            return
        segment.waiting |= bits(index, count) & segment.committed
        if segment.expire == 0:
            segment.expire = now + delay
        elif segment.expire + extend <= now:
            self.decommit_due(segment, now, force=True)
        elif segment.expire <= now:
            segment.expire = now + extend
        else:
            segment.expire += extend

    def decommit_due(self, segment: Segment, now: int, *, force: bool = False) -> None:
        """Decommit the waiting slices of a segment, if they are due."""
        if segment.waiting and (force or now >= segment.expire):
            waiting, segment.expire = segment.waiting, 0
            self._decommit(segment, waiting)

    def touch_records(self, segment: Segment, index: int) -> None:
        """Write the header's records of a span's first and last slice.

        For a page, the records of slices between them are also written.
        """
        if not self.first:
            return
        count, page = segment.spans[index]
        at = segment.start + _HEADER_START + index * _SLICE_RECORD
        self._heap.touch(at, _RECORD_WRITTEN)
        last = min(count - 1, SEGMENT // SLICE - index)
        linked = range(1, count)[:_MAX_LINKED] if page else ()
        for i in {*linked, last} - {0}:
            self._heap.touch(at + i * _SLICE_RECORD, _LINK_WRITTEN)

    def kept(self) -> list[Segment]:
        """Return the cached segments."""
        return [segment for segment, _ in self._cache.values()]

    def free_parts(self) -> list[int]:
        """Return the starts of free parts of the reserve."""
        return self._reserve.free_runs() if self._reserve else []

    def _map(self, size: int, *, is_huge: bool) -> Segment:
        blocks = self._heap.blocks
        # If the memory was used before, the model clears the whole header, including the part
        # beyond the header's first slice.
        header = _HEADER_START + _SLICE_RECORD * (round_up(size, SLICE) // SLICE + 1)
        size = system_size(size, 4096)
        start, was_used = self._take_reserved(size) or (None, False)
        if start is not None:
            assert self._reserve is not None
            segment = Segment(
                start, start - self._reserve.start, blocks.size[start], is_huge=is_huge
            )
            segment.is_reserved = True
        else:
            start = blocks.map_segment(size, SEGMENT)
            self._heap.growths += 1
            segment = Segment(start, self._hint, size, is_huge=is_huge)
            self._hint += round_up(size, SEGMENT)
        if self.first:
            free = blocks.cut(start, SLICE)
            blocks.mark(start, State.TABLE)
            self._heap.touch(start, header if was_used else _HEADER_START)
            start = free
        blocks.mark(start, State.FREE)
        return segment

    def _take_reserved(self, size: int) -> tuple[int, bool] | None:
        """Take `size` bytes of the reserve, or return None; the first call maps the reserve."""
        reserved = self._options.reserve_os_memory
        if not reserved:
            return None
        if self._reserve is None:
            if not self._heap.blocks.has_room(reserved + RESERVE_RECORD * bool(self.first)):
                return None
            self._reserve = Reserve(self._heap, reserved, record=bool(self.first))
            self._heap.growths += 1
            self._hint += reserved
            self.committed += self._reserve.committed
        return self._reserve.take(size)

    def _unmap(self, segment: Segment, slices: int) -> None:
        """Unmap a segment, in which the allocator counts `slices` slices as committed."""
        blocks = self._heap.blocks
        while blocks.size[segment.start] < segment.size:
            blocks.join(segment.start)
        if segment.is_reserved:
            assert self._reserve is not None
            self._reserve.give(segment.start)
        else:
            self.committed -= slices * SLICE
            blocks.unmap_segment(segment.start)

    def _begin(self, segment: Segment, slices: int) -> None:
        segment.committed = bits(0, slices)
        self.committed += slices * SLICE

    def _commit(self, segment: Segment, slices: int) -> None:
        self.committed += (slices & ~segment.committed).bit_count() * SLICE
        segment.committed |= slices

    def _decommit(self, segment: Segment, slices: int) -> None:
        self.committed -= (slices & segment.committed).bit_count() * SLICE
        segment.committed &= ~slices
        segment.waiting &= ~slices
        while slices:
            first = (slices & -slices).bit_length() - 1
            rest = slices >> first
            count = (rest ^ (rest + 1)).bit_length() - 1
            self._heap.discard(segment.start + first * SLICE, count * SLICE)
            slices &= ~bits(first, count)


def bits(index: int, count: int) -> int:
    """Return a bitmap of `count` slices from `index` on."""
    return ((1 << count) - 1) << index


def shuffled(number: int) -> int:
    """Return a 64-bit hash of a number: a step of splitmix64."""
    mixed = number or 17
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % (1 << 64)
    return mixed ^ mixed >> 31
