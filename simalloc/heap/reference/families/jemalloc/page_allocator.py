"""The page allocator of an arena of jemalloc."""

from __future__ import annotations

from typing import Final

from simalloc.heap.reference.families.jemalloc.decay import Decay
from simalloc.heap.reference.families.jemalloc.extents import Extent, ExtentCache, Use
from simalloc.heap.reference.families.jemalloc.metadata import Metadata
from simalloc.heap.reference.families.jemalloc.size_classes import (
    HUGE_PAGE,
    PAGE,
    SMALLEST_LARGE,
    class_above,
)
from simalloc.heap.reference.families.jemalloc.space import JemallocSpace
from simalloc.heap.reference.space import State

RECORD: Final = 128
"""Bytes of an extent's record."""


class Pages:
    """The pages of an arena: active extents, and three caches of unused extents.

    Freed pages are dirty, then muzzy if muzzy pages have a decay time, then retained. Retained
    addresses stay reserved without memory.
    """

    def __init__(
        self,
        arena: int,
        space: JemallocSpace,
        metadata: Metadata,
        times: tuple[int, int],
        eager_from: int,
    ) -> None:
        """Start without pages.

        `times` are the decay times of dirty and of muzzy pages, in milliseconds. An extent of at
        least `eager_from` bytes is purged when it is freed.
        """
        description = space.description
        seeds = [seed + arena * _SEED_STEP for seed in description.seeds()[1:]]
        self.arena = arena
        self._space = space
        self.metadata = metadata
        self.dirty = ExtentCache(Use.DIRTY, space.sizes, description.lg_extent_max_active_fit)
        self.muzzy = ExtentCache(Use.MUZZY, space.sizes)
        self.retained = ExtentCache(Use.RETAINED, space.sizes)
        self._decays = {
            self.dirty: Decay(times[0], seeds[0], space.now),
            self.muzzy: Decay(times[1], seeds[1], space.now),
        }
        self._eager_from = eager_from
        self._next_mapping = HUGE_PAGE
        self._records = 0
        self._max_records = 0

    def allocate(self, size: int, alignment: int = PAGE) -> Extent:
        """Return an active extent of `size` bytes at a multiple of `alignment`."""
        for cache in self._caches():
            found = cache.find(size, alignment)
            if found is not None:
                return self._take(cache, found, size, alignment)
        batch = self._space.sizes.batched(size)
        self._space.take_room(batch)
        fresh = self.retained.find(batch, alignment)
        if fresh is not None:
            extent = self._take(self.retained, fresh, batch, alignment)
        else:
            extent = self._grow(batch, alignment)
        if batch > size:
            self._free(self._split(extent, size))
        return extent

    def free(self, extent: Extent) -> None:
        """Make an active extent dirty; if the dirty decay time is 0, purge all dirty extents."""
        self._free(extent)
        if self._decays[self.dirty].milliseconds == 0:
            self._evict(self.dirty, 0, self.dirty.pages, lazily=False)

    def expand(self, extent: Extent, more: int) -> bool:
        """Add the `more` bytes behind an extent to it if they are in one unused extent."""
        behind = self._space.neighbour_above(extent)
        if behind is None or behind.use is Use.ACTIVE or behind.size < more:
            return False
        if behind.use is Use.RETAINED and not self._space.has_room(more):
            return False
        cache = {Use.DIRTY: self.dirty, Use.MUZZY: self.muzzy, Use.RETAINED: self.retained}
        self._take(cache[behind.use], behind, more, PAGE)
        self._space.set_state(behind, State.WASTE)
        self._merge(extent, behind)
        return True

    def shrink(self, extent: Extent, size: int) -> None:
        """Free the part of an extent beyond `size`."""
        self.free(self._split(extent, size))

    def look(self) -> None:
        """Purge the pages whose decay time has expired."""
        for cache, decay in self._decays.items():
            pages = cache.pages
            if decay.milliseconds == 0:
                self._evict(cache, 0, pages, lazily=True)
            elif decay.milliseconds > 0 and decay.advance(self._space.now, pages):
                self._evict(cache, decay.limit, max(pages - decay.limit, 0), lazily=True)

    def purge_all(self) -> None:
        """Purge all dirty and muzzy pages."""
        for cache in (self.dirty, self.muzzy):
            self._evict(cache, 0, cache.pages, lazily=False)

    def _caches(self) -> list[ExtentCache]:
        """Return the caches of pages that are still mapped."""
        has_muzzy = self._decays[self.muzzy].milliseconds != 0
        return [self.dirty, self.muzzy] if has_muzzy else [self.dirty]

    def _take(self, cache: ExtentCache, extent: Extent, size: int, alignment: int) -> Extent:
        """Take `size` bytes from a cached extent; the rest stays in the cache."""
        cache.remove(extent)
        extent, rests = self._cut_out(extent, size, alignment)
        for rest in rests:
            cache.insert(rest)
        return extent

    def _cut_out(self, extent: Extent, size: int, alignment: int) -> tuple[Extent, list[Extent]]:
        """Return `size` aligned bytes of an extent, and the parts before and behind them."""
        rests = []
        lead = extent.aligned(alignment) - extent.address
        if lead:
            rests.append(extent)
            extent = self._split(extent, lead)
        if extent.size > size:
            rests.append(self._split(extent, size))
        return extent, rests

    def _grow(self, size: int, alignment: int) -> Extent:
        """Map an extent of at least `size`: the next sufficient size of a growing series.

        The rest is retained. Without `retain`, exactly `size` bytes are mapped.
        """
        if not self._space.description.retain:
            self._new_record()
            return self._space.map(self, size, alignment)
        least = size + max(alignment, PAGE) - PAGE
        while self._next_mapping < least:
            self._next_mapping = class_above(self._next_mapping + 1, PAGE)
        self._new_record()
        extent = self._space.map(self, self._next_mapping)
        self._next_mapping = class_above(self._next_mapping + 1, PAGE)
        extent, rests = self._cut_out(extent, size, alignment)
        for rest in rests:
            self._retain(rest)
        return extent

    def _free(self, extent: Extent) -> None:
        """Free an extent; a large one is merged with its neighbours and may be purged at once."""
        extent.is_zero = False
        self._space.set_state(extent, State.FREE)
        if extent.size < SMALLEST_LARGE:
            self.dirty.insert(extent)
            return
        description = self._space.description
        most = None
        if description.is_5_3_1:
            most = extent.size << description.lg_extent_max_active_fit
        merged = True
        while merged:
            extent, merged = self._merge_one(self.dirty, extent, most)
        never = any(decay.milliseconds == -1 for decay in self._decays.values())
        if extent.size >= self._eager_from and not never and not description.background_thread:
            self._retain(extent)
        else:
            self.dirty.insert(extent)

    def _merge_one(
        self, cache: ExtentCache, extent: Extent, most: int | None = None
    ) -> tuple[Extent, bool]:
        """Merge an extent with the neighbour above or, if that is impossible, the one below.

        The neighbour must be in the cache, and the merged extent may have at most `most` bytes.
        Returns the merged extent and True, or the unchanged extent and False.
        """
        for low, high in (
            (extent, self._space.neighbour_above(extent)),
            (self._space.neighbour_below(extent), extent),
        ):
            other = high if low is extent else low
            if low is None or high is None or other is None or other.use is not cache.use:
                continue
            if most is None or low.size + high.size <= most:
                cache.remove(other)
                self._merge(low, high)
                return low, True
        return extent, False

    def _merge_all(self, cache: ExtentCache, extent: Extent) -> Extent:
        merged = True
        while merged:
            extent, merged = self._merge_one(cache, extent)
        return extent

    def _retain(self, extent: Extent) -> None:
        """Return an extent's pages to the system; keep the addresses if addresses are retained."""
        extent.is_zero = True
        self._space.set_state(extent, State.HOLE)
        if not self._space.description.retain:
            self._records -= 1
            self._space.drop(extent)
            return
        self.retained.insert(self._merge_all(self.retained, extent))

    def _evict(self, cache: ExtentCache, limit: int, most: int, *, lazily: bool) -> None:
        """Purge the oldest extents until at most `limit` pages are left or `most` were purged."""
        evicted: list[Extent] = []
        taken = 0
        while taken < most and cache.pages > limit:
            extent = next(iter(cache))
            cache.remove(extent)
            if cache is self.dirty:
                extent, merged = self._merge_one(cache, extent)
                if merged:
                    cache.insert(extent)
                    continue
            evicted.append(extent)
            taken += extent.size // PAGE
        keeps_muzzy = lazily and cache is self.dirty and self._decays[self.muzzy].milliseconds != 0
        for extent in evicted:
            if keeps_muzzy:
                self.muzzy.insert(self._merge_all(self.muzzy, extent))
            else:
                self._retain(extent)

    def _split(self, extent: Extent, size: int) -> Extent:
        """Cut an extent down to `size`; return the rest as a new extent."""
        self._new_record()
        return self._space.split(extent, size)

    def _merge(self, low: Extent, high: Extent) -> None:
        self._records -= 1
        self._space.merge(low, high)

    def _new_record(self) -> None:
        self._records += 1
        if self._records > self._max_records:
            self._max_records = self._records
            record = self.metadata.allocate(RECORD, RECORD)
            self._space.touch(record, RECORD)


_SEED_STEP: Final = 1 << 21
"""Distance between the decay seeds of consecutive arenas."""
