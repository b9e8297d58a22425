"""jemalloc's arenas, and the choice of an arena for each thread and request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from simalloc.heap.reference.families.jemalloc.arena import Arena, Large
from simalloc.heap.reference.families.jemalloc.bins import Slab
from simalloc.heap.reference.families.jemalloc.extents import Extent
from simalloc.heap.reference.families.jemalloc.metadata import QUANTUM, Metadata, NoMetadata
from simalloc.heap.reference.families.jemalloc.page_allocator import Pages
from simalloc.heap.reference.families.jemalloc.size_classes import PAGE, SMALLEST_LARGE
from simalloc.heap.reference.families.jemalloc.space import JemallocSpace
from simalloc.heap.reference.space import Blocks
from simalloc.policy.families.jemalloc import Version

_EAGER_FROM: Final = 8 << 20
"""Minimum bytes of extents that are purged when freed, in arena 0 of 5.3.0 or without an oversize
arena."""


class _Tables(NamedTuple):
    """Bytes of metadata."""

    arena: int
    """Metadata of each arena."""
    program: int
    """Additional metadata of the first arena."""
    statistics: int
    """Each table of statistics, which the first mallctl makes."""
    control: int
    """Other metadata that the first mallctl makes."""
    lost: int
    """Alignment loss between the first mallctl's metadata and the first thread's cache."""
    unread: int
    """Part of the first mallctl's metadata that is not written unless dirty pages decay by the
    clock."""
    unwritten: tuple[int, ...]
    """Pages of an arena's metadata that are not written without mallctl."""


_TABLES: Final = {
    Version.V5_3_0: _Tables(91152, 1704, 37856, 32776, 128, 69632, (2, 19)),
    Version.V5_3_1: _Tables(92880, 1592, 41136, 32776, 0, 0, (2,)),
}


class Arenas:
    """All arenas by number: the threads' arenas, then the oversize arena.

    `slabs` and `large` map each address to its slab or large object.
    """

    def __init__(self, space: JemallocSpace, blocks: Blocks) -> None:
        self.slabs: dict[int, Slab] = {}
        self.large: dict[int, Large] = {}
        self._space = space
        self._blocks = blocks
        self._arenas: dict[int, Arena] = {}
        self._count = space.description.arenas
        threshold = space.description.oversize_threshold
        self._huge_from = threshold if threshold >= SMALLEST_LARGE else None

    def __iter__(self) -> Iterator[Arena]:
        """Iterate over the arenas made so far."""
        return iter(self._arenas.values())

    def __getitem__(self, number: int) -> Arena:
        """Return the arena of a number; make it if it does not exist."""
        if number not in self._arenas:
            self._arenas[number] = self._make(number)
        return self._arenas[number]

    def of(self, address: int) -> Arena:
        """Return the arena that contains an object."""
        return self._arenas[self.extent(address).pages.arena]

    def extent(self, address: int) -> Extent:
        """Return the extent that contains an object."""
        if address in self.large:
            return self.large[address].extent
        return self.slabs[address].extent

    def usable(self, address: int) -> int:
        """Return the usable size of an object."""
        if address in self.large:
            return self.large[address].usable
        return self.slabs[address].width

    def for_size(self, size: int, own: Arena) -> Arena:
        """Return the arena for a request: the thread's own arena, or the oversize arena."""
        return own if self._huge_from is None or size < self._huge_from else self[self._count]

    def for_thread(self) -> Arena:
        """Return the arena with the fewest threads, or a new one if every arena has threads."""
        others = [arena for arena in self if 0 < arena.number < self._count]
        least = min([self[0], *others], key=lambda arena: (arena.threads, arena.number))
        missing = [number for number in range(self._count) if number not in self._arenas]
        return self[missing[0]] if least.threads and missing else least

    def _make(self, number: int) -> Arena:
        description = self._space.description
        times = (description.dirty_decay_ms, description.muzzy_decay_ms)
        decays_as_others = description.is_5_3_1 and description.background_thread
        if number == self._count and not decays_as_others:
            times = (min(times[0], 0), min(times[1], 0))
        eager_from = description.oversize_threshold
        if self._huge_from is None or (number == 0 and not description.is_5_3_1):
            eager_from = _EAGER_FROM
        metadata = self._make_metadata(number)
        pages = Pages(number, self._space, metadata, times, eager_from)
        return Arena(number, pages, self._space, self._blocks, (self.slabs, self.large))

    def _make_metadata(self, number: int) -> Metadata:
        """Make an arena's metadata; the first arena's also contains the address tree's leaves."""
        description = self._space.description
        if not description.mechanism:
            return NoMetadata()
        tables = _TABLES[description.version]
        size = tables.arena + (tables.program if number == 0 else 0)
        metadata = Metadata(self._space, size)
        if number == 0:
            self._space.leaves = metadata
        if description.stats:
            self._space.touch(metadata.start, size)
        else:
            for page in range(-(-size // PAGE)):
                if page not in tables.unwritten:
                    self._space.touch(metadata.start + page * PAGE, 1)
        if number == 0 and description.stats:
            self._make_statistics(metadata)
        return metadata

    def _make_statistics(self, metadata: Metadata) -> None:
        """Make the tables of the first mallctl; each possible arena has one."""
        description = self._space.description
        tables = _TABLES[description.version]
        at_once = tables.control + (3 if self._huge_from is None else 4) * tables.statistics
        lost = tables.lost if description.tcache else 0
        metadata.extend_first(at_once, lost)
        untouched = 0 if description.dirty_decay_ms > 0 else tables.unread
        self._space.touch(metadata.start, metadata.allocated - untouched)
        for _ in range(1, self._count):
            self._space.touch(metadata.allocate(tables.statistics, QUANTUM), 8)
