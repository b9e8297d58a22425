"""tcmalloc's page heap: search, merging and return of free spans to the system."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from enum import Enum

from sortedcontainers import SortedList

from simalloc.heap.reference.families.tcmalloc.metadata import Metadata
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.space import Refused, State, needed_by_allocator
from simalloc.policy.families.tcmalloc import Tcmalloc, TcmallocVersion

_LISTED_BYTES = 1 << 20
"""Maximum bytes of free spans with a list for each length; also the minimum growth."""

_FORCED_INTERVAL = 128 << 20
"""Growth in bytes after which the heap may return all free pages to the system."""

_DELAY = 1 << 18
"""Number of pages freed until the next release, if the latest release found no span."""

_LONGEST_DELAY = 1 << 20


class Kind(Enum):
    """States of a free span's pages."""

    NORMAL = "normal"
    RETURNED = "returned"
    """Returned to the system, but still mapped."""


class FreeSpans:
    """The free spans of one kind: lists by length, the newest last; longer spans are sorted."""

    def __init__(self, listed: int) -> None:
        self._listed = listed
        self._of_length: defaultdict[int, dict[int, None]] = defaultdict(dict)
        self.long: SortedList[tuple[int, int]] = SortedList()
        self.pages = 0

    def enter(self, address: int, length: int) -> None:
        """Add a span, as the newest of its length."""
        self.pages += length
        if length > self._listed:
            self.long.add((length, address))
        else:
            self._of_length[length][address] = None

    def leave(self, address: int, length: int) -> None:
        """Remove a span."""
        self.pages -= length
        if length > self._listed:
            self.long.remove((length, address))
        else:
            del self._of_length[length][address]

    def newest(self, length: int) -> int | None:
        """Return the newest span of a listed length, or None."""
        return next(reversed(self._of_length[length]), None)

    def oldest(self, length: int) -> int | None:
        """Return the oldest span of a listed length, or None."""
        return next(iter(self._of_length[length]), None)

    def best_long(self, length: int) -> tuple[int, int] | None:
        """Return length and address of the best long span: the shortest, then the lowest."""
        place = self.long.bisect_left((length, 0))
        return self.long[place] if place < len(self.long) else None

    def __iter__(self) -> Iterator[int]:
        """Iterate over the addresses."""
        for spans in self._of_length.values():
            yield from spans
        yield from (address for _, address in self.long)


class SpanHeap(Heap):
    """Allocates and frees spans of whole pages (policy/families/tcmalloc.md)."""

    def __init__(self, description: Tcmalloc) -> None:
        super().__init__()
        self.page = description.page
        self._is_old = description.version is TcmallocVersion.V2_10
        self._rate = description.release_rate
        self._decommits = description.aggressive_decommit
        self._limit = (description.heap_limit_mb << 20) // self.page
        self._listed = _LISTED_BYTES // self.page
        self._free = {kind: FreeSpans(self._listed) for kind in Kind}
        self._kind: dict[int, Kind] = {}
        self._delay = _DELAY
        self._cursor = self._listed + 1
        self.system = 0
        self.metadata = Metadata(self, description) if description.mechanism else None

    def grow_table(self, size: int) -> int:
        """Return the address of new memory that belongs to no span."""
        with needed_by_allocator():
            address = self._grow(size)
        self.blocks.mark(address, State.TABLE)
        return address

    def free_pages(self, kind: Kind) -> int:
        """Return the number of pages in the free spans of a kind."""
        return self._free[kind].pages

    def allocate_span(self, pages: int) -> int:
        """Return the address of a span, which is one allocated block.

        Raises `Refused` if the limit or the capacity does not allow the growth.
        """
        address = self._find(pages)
        if address is None and self._gives_all_back(pages):
            self.release_spans(self.free_pages(Kind.NORMAL))
            address = self._find(pages)
        if address is None:
            self._get_pages(pages)
            visited = self.visited
            address = self._find(pages)
            self.visited = visited
        assert address is not None, "the heap has grown far enough"
        return address

    def split_span(self, address: int, pages: int) -> int:
        """Cut an allocated span in two, the low one of `pages`; return the high address."""
        self._count_span(1)
        return self._split(address, pages * self.page)

    def free_span(self, address: int) -> None:
        """Free a span; after every `_delay` freed pages, return a span to the system."""
        self._delay -= self._length(address)
        self.blocks.mark(address, State.FREE)
        if self._decommits:
            self._discard(address)
        self._enter(address, Kind.RETURNED if self._decommits else Kind.NORMAL)
        if self._delay >= 0:
            return
        released = self.release_spans(1) if self._rate > 1e-6 else 0
        self._delay = _DELAY
        if released:
            self._delay = min(int(1000 / self._rate * released), _LONGEST_DELAY)

    def release_spans(self, least: int) -> int:
        """Return at least `least` pages to the system, or all normal pages; return their number."""
        released = 0
        while released < least and self.free_pages(Kind.NORMAL):
            span = self._next_to_release()
            if span is not None:
                released += self._length(span)
                self._leave(span)
                self._discard(span)
                self._enter(span, Kind.RETURNED)
            self._cursor = self._cursor + 1 if self._cursor <= self._listed else 1
        return released

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        for kind, spans in self._free.items():
            known = {address for address in self._kind if self._kind[address] is kind}
            assert sorted(spans) == sorted(known), "the lists of a kind hold its free spans"
            assert spans.pages == sum(map(self._length, known))

    def _length(self, address: int) -> int:
        return self.blocks.size[address] // self.page

    def _next_to_release(self) -> int | None:
        """Return the oldest span of the cursor's length; behind all lengths, the best long one."""
        normal = self._free[Kind.NORMAL]
        if self._cursor <= self._listed:
            return normal.oldest(self._cursor)
        return normal.long[0][1] if normal.long else None

    def _find(self, pages: int) -> int | None:
        """Allocate the low end of a free span that is long enough, or return None."""
        for length in range(pages, self._listed + 1):
            for kind, spans in self._free.items():
                found = spans.newest(length)
                if found is not None and (kind is Kind.NORMAL or self._ensure_limit(pages)):
                    found = spans.newest(length)
                    if found is not None:
                        return self._use(found, pages)
        return self._find_long(pages)

    def _find_long(self, pages: int) -> int | None:
        normal = self._free[Kind.NORMAL].best_long(pages)
        returned = self._free[Kind.RETURNED].best_long(pages)
        if returned and (normal is None or self._is_better(returned, normal)):
            if self._is_within_limit(pages):
                return self._use(returned[1], pages)
            return self._find_long(pages) if self._ensure_limit(pages) else None
        return self._use(normal[1], pages) if normal else None

    def _is_better(self, returned: tuple[int, int], normal: tuple[int, int]) -> bool:
        return returned < normal if self._is_old else returned[0] < normal[0]

    def _use(self, address: int, pages: int) -> int:
        """Allocate the low end of a free span; the rest keeps the span's kind."""
        self.visited += 1
        kind = self._leave(address)
        self.blocks.mark(address, State.ALLOCATED)
        if self._length(address) > pages:
            rest = self.split_span(address, pages)
            self.blocks.mark(rest, State.FREE)
            self._put(rest, kind)
        return address

    def _gives_all_back(self, pages: int) -> bool:
        """Return whether all free pages are to be returned before this growth.

        The free pages must be at least a quarter of the heap, some must be normal and some
        returned, and the growth must cross a multiple of the interval.
        """
        normal, returned = self.free_pages(Kind.NORMAL), self.free_pages(Kind.RETURNED)
        interval = _FORCED_INTERVAL // self.page
        is_empty = 4 * (normal + returned) >= self.system
        passes = self.system // interval != (self.system + pages) // interval
        return bool(normal and returned and is_empty and passes)

    def _get_pages(self, pages: int) -> None:
        """Get at least 1 MiB from the system, or only `pages` if the limit allows no more."""
        ask = max(pages, self._listed)
        is_first = not self.system  # the first growth precedes the reading of the settings
        if not is_first and not self._ensure_limit(ask):
            ask = pages
            if not self._ensure_limit(ask):
                raise Refused
        if not self.blocks.has_room(ask * self.page):
            ask = pages
        address = self._grow(ask * self.page)
        if self.metadata:
            self.metadata.describe(address, ask * self.page)
        self._count_span(1)
        self.system += ask
        if is_first:
            self.blocks.mark(address, State.FREE)
            self._enter(address, Kind.NORMAL)
        else:
            self.free_span(address)

    def _ensure_limit(self, pages: int) -> bool:
        """Return whether the limit allows `pages` more, after returning pages if necessary."""
        if not self._is_within_limit(pages):
            self.release_spans(self._held() + pages - self._limit)
        return self._is_within_limit(pages)

    def _is_within_limit(self, pages: int) -> bool:
        return not self._limit or self._held() + pages <= self._limit

    def _held(self) -> int:
        return self.blocks.mapped // self.page - self.free_pages(Kind.RETURNED)

    def _discard(self, address: int) -> None:
        self.discard(address, self.blocks.size[address])

    def _enter(self, address: int, kind: Kind) -> None:
        """Enter a free span, merged with free neighbours of its kind."""
        before, after = self.blocks.before(address), self.blocks.after(address)
        if before is not None and self._merges(before, kind):
            self._leave(before)
            self._merge(before)
            address = before
        if after is not None and self._merges(after, kind):
            self._leave(after)
            self._merge(address)
        self._put(address, kind)

    def _merges(self, neighbour: int, kind: Kind) -> bool:
        """Return whether a neighbour merges; aggressive decommit returns a normal one first."""
        has = self._kind.get(neighbour)
        if has is Kind.NORMAL and kind is Kind.RETURNED and self._decommits:
            self._discard(neighbour)
            return True
        return has is kind

    def _merge(self, address: int) -> None:
        self._count_span(-1)
        self._coalesce(address)

    def _put(self, address: int, kind: Kind) -> None:
        length = self._length(address)
        self._kind[address] = kind
        self._free[kind].enter(address, length)
        if self.metadata and length > self._listed:
            self.metadata.long_spans.change(1)

    def _leave(self, address: int) -> Kind:
        length = self._length(address)
        kind = self._kind.pop(address)
        self._free[kind].leave(address, length)
        if self.metadata and length > self._listed:
            self.metadata.long_spans.change(-1)
        return kind

    def _count_span(self, change: int) -> None:
        if self.metadata:
            self.metadata.spans.change(change)
