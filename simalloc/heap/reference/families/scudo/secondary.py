"""Scudo's large blocks: mappings and their cache (simalloc/policy/families/scudo.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simalloc.heap.reference.families.scudo.configuration import PAGE
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State

_MAPPING_HEADER = 48
"""Bytes in front of a large block's header that describe its mapping."""

_MAX_FULL = 5
"""The cache is emptied after this number of frees have found it full."""

_MAX_SKIPPED = 4 * PAGE
"""Maximum offset of a block from the start of a cached mapping that it uses, in bytes."""

_MILLISECOND = 1_000_000


@dataclass(eq=False)
class Mapping:
    """A segment of `size` bytes from `base` on; bytes from `start` to `end` are accessible."""

    number: int
    base: int
    size: int
    start: int
    end: int
    time: int = 0
    """Time of caching in nanoseconds, or 0 if no page was written since the system provided it."""


class Secondary:
    """Directly mapped blocks, and the cache of freed mappings.

    At most `count` mappings are cached, of at most `largest` bytes each. Their pages are kept for
    `interval` milliseconds, or for ever if negative. `give_back` is called with address and size of
    pages whose contents are dropped.
    """

    def __init__(
        self,
        heap: Heap,
        give_back: Callable[[int, int], None],
        *,
        payload: int,
        count: int,
        largest: int,
        interval: int,
    ) -> None:
        self.mapped = 0
        self.mappings = 0
        self._heap = heap
        self._give_back = give_back
        self._payload = payload
        self._header = payload + _MAPPING_HEADER if payload else 0
        self._guard = PAGE if payload else 0
        self._largest = largest
        self._interval = interval
        self._slots: list[Mapping | None] = [None] * count
        self._oldest = 0
        self._found_full = 0
        self._number = 0

    def allocate(self, size: int, alignment: int) -> tuple[int, Mapping]:
        """Return the address of the program's bytes, and their mapping."""
        needed = round_up(size + self._header, PAGE)
        mapping = None
        if alignment < PAGE and needed <= self._largest:
            mapping = self._find(size, alignment)
        if mapping is None:
            mapping = self._map(size, alignment)
        position = self._place(mapping, size, alignment)
        self._cut(mapping, position)
        self._heap.touch(position - self._header, self._header)
        return position, mapping

    def free(self, mapping: Mapping, now: int) -> None:
        """Cache the mapping of a freed block, or unmap it."""
        self._join(mapping)
        if not self._slots or mapping.end - mapping.start > self._largest:
            self._unmap(mapping)
            return
        mapping.time = now
        if self._interval == 0:
            self._clear(mapping)
        if None in self._slots:
            self._store(mapping)
            self._clear_older(now)
            return
        self._found_full += 1
        if self._found_full == _MAX_FULL:
            self._empty()
        else:
            self._clear_older(now)
        self._unmap(mapping)

    def clear_cached(self) -> None:
        """Return the pages of all cached mappings to the system."""
        if self._oldest:
            self._clear_until(1 << 64)

    def cached(self) -> list[int]:
        """Return the blocks of the cached mappings."""
        return [mapping.base for mapping in self._waiting()]

    def _find(self, size: int, alignment: int) -> Mapping | None:
        """Take the first cached mapping that fits closely, or else the one with the least waste."""
        best, least = None, 0
        for mapping in self._waiting():
            header = self._place(mapping, size, alignment) - self._header
            waste = header - mapping.start
            if waste < 0 or waste + self._header > _MAX_SKIPPED:
                continue
            if best is None or waste <= least:
                best, least = mapping, waste
            if waste <= (mapping.end - header) // 10:
                break
        if best is not None:
            self._slots[self._slots.index(best)] = None
        return best

    def _map(self, size: int, alignment: int) -> Mapping:
        """Map a segment, with a guard page at each end."""
        needed = round_up(round_up(size, alignment) + self._header, PAGE)
        spare = max(0, alignment - PAGE)
        gross = needed + spare + 2 * self._guard
        base = self._heap.blocks.map_segment(gross, PAGE)
        self._heap.blocks.mark(base, State.CACHED)
        start, end = base + self._guard, base + gross - self._guard
        if spare and self._guard:
            start = (start // alignment + 1) * alignment - PAGE
        self.mapped += gross
        self.mappings += 1
        self._heap.growths += 1
        number, self._number = self._number, self._number + 1
        return Mapping(number, base, gross, start, end)

    def _place(self, mapping: Mapping, size: int, alignment: int) -> int:
        """Return the highest suitable address for a block in a mapping."""
        return (mapping.end - size) // alignment * alignment

    def _cut(self, mapping: Mapping, position: int) -> None:
        """Cut a mapping's only block into waste, header, allocated block and guard page."""
        blocks = self._heap.blocks
        start = mapping.base
        header, block = position - self._header, position - self._payload
        ends = (State.WASTE, header), (State.TABLE, block), (State.ALLOCATED, mapping.end)
        for state, end in ends:
            part = start
            if start < end < mapping.base + mapping.size:
                start = blocks.cut(part, end - part)
            if part < end:
                blocks.mark(part, state)
        if self._guard:
            blocks.mark(start, State.WASTE)

    def _join(self, mapping: Mapping) -> None:
        """Join the blocks of a mapping into one cached block."""
        blocks = self._heap.blocks
        while not blocks.is_segment(mapping.base):
            blocks.join(mapping.base)
        blocks.mark(mapping.base, State.CACHED)

    def _store(self, mapping: Mapping) -> None:
        """Put a mapping into the first slot, and the first slot's mapping into an empty slot."""
        self._slots[self._slots.index(None)] = self._slots[0]
        self._slots[0] = mapping
        self._oldest = self._oldest or mapping.time

    def _clear_older(self, now: int) -> None:
        """Return to the system the pages of mappings that have been cached for the interval."""
        latest = (now - self._interval * _MILLISECOND) % (1 << 64)
        if self._interval >= 0 and 0 < self._oldest <= latest:
            self._clear_until(latest)

    def _clear_until(self, latest: int) -> None:
        for mapping in self._waiting():
            if 0 < mapping.time <= latest:
                self._clear(mapping)
        self._oldest = min((entry.time for entry in self._waiting() if entry.time), default=0)

    def _clear(self, mapping: Mapping) -> None:
        self._give_back(mapping.start, mapping.end - mapping.start)
        mapping.time = 0

    def _waiting(self) -> list[Mapping]:
        return [mapping for mapping in self._slots if mapping is not None]

    def _empty(self) -> None:
        for mapping in self._waiting():
            self._unmap(mapping)
        self._slots = [None] * len(self._slots)
        self._found_full = 0

    def _unmap(self, mapping: Mapping) -> None:
        self._heap.blocks.unmap_segment(mapping.base)
        self.mapped -= mapping.size
        self.mappings -= 1
