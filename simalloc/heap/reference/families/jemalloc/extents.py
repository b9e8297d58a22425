"""jemalloc's extents, and the caches of unused extents."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Final

from simalloc.heap.reference.families.jemalloc.size_classes import PAGE, Sizes
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.parts.pairing_heap import PairingHeap

if TYPE_CHECKING:
    from simalloc.heap.reference.families.jemalloc.page_allocator import Pages

_MAX_EXAMINED: Final = 32
"""Maximum number of extents visited in a bin whose extents do not all fit."""


class Use(Enum):
    """States of an extent."""

    ACTIVE = "active"
    DIRTY = "dirty"
    MUZZY = "muzzy"
    RETAINED = "retained"


class Mapping:
    """Addresses mapped at once. `place` is the address that Linux would have chosen."""

    def __init__(self, number: int, address: int, size: int, place: int) -> None:
        self.number = number
        self.address = address
        self.size = size
        self.place = place


class Extent:
    """A run of pages of one mapping, all in one state."""

    def __init__(self, pages: Pages, mapping: Mapping, address: int, size: int) -> None:
        self.pages = pages
        self.mapping = mapping
        self.address = address
        self.size = size
        self.use = Use.ACTIVE
        # True if its pages contain only zeros: they were unmapped, or never used.
        self.is_zero = True
        self.child: Extent | None = None
        self.sibling: Extent | None = None
        self.before: Extent | None = None

    @property
    def key(self) -> tuple[int, int]:
        """Sort key of extents: older mappings first, then lower addresses."""
        return self.mapping.number, self.address

    @property
    def end(self) -> int:
        """Address behind the extent."""
        return self.address + self.size

    def aligned(self, alignment: int) -> int:
        """Return the extent's first address that is a multiple of `alignment` under Linux."""
        shift = self.mapping.place - self.mapping.address
        return round_up(self.address + shift, alignment) - shift

    def holds(self, size: int, alignment: int) -> bool:
        """Return whether the extent contains `size` bytes at a multiple of `alignment`."""
        return self.aligned(alignment) + size <= self.end


class ExtentCache:
    """An arena's extents in one state, in bins by size and in the order in which they entered."""

    def __init__(self, use: Use, sizes: Sizes, most: int | None = None) -> None:
        """With `most`, extents more than 2**`most` times as large as the request are not used."""
        self.use = use
        self.pages = 0
        self._sizes = sizes
        self._max = most
        self._bins: defaultdict[int, PairingHeap[Extent]] = defaultdict(PairingHeap)
        # Key of the first extent of each nonempty bin.
        self._first: dict[int, tuple[int, int]] = {}
        self._order: OrderedDict[Extent, None] = OrderedDict()

    def __iter__(self) -> Iterator[Extent]:
        """Iterate over the extents, the oldest first."""
        return iter(self._order)

    def insert(self, extent: Extent) -> None:
        """Insert an extent as the newest."""
        extent.use = self.use
        name = self._sizes.bin_of(extent.size)
        self._first[name] = min(self._first.get(name, extent.key), extent.key)
        self._bins[name].insert(extent)
        self._order[extent] = None
        self.pages += extent.size // PAGE

    def remove(self, extent: Extent) -> None:
        """Remove an extent."""
        name = self._sizes.bin_of(extent.size)
        found = self._bins[name]
        found.remove(extent)
        if not found:
            del self._first[name]
        elif self._first[name] == extent.key:
            self._first[name] = found.least().key
        del self._order[extent]
        extent.use = Use.ACTIVE
        self.pages -= extent.size // PAGE

    def find(self, size: int, alignment: int) -> Extent | None:
        """Return the extent to use for `size` bytes at a multiple of `alignment`, or None."""
        found = self._fit(size + max(alignment, PAGE) - PAGE)
        if found is None and alignment > PAGE:
            found = self._fit_aligned(size, alignment)
        return found

    def _fit(self, size: int) -> Extent | None:
        """Return the fitting extent with the lowest key, regardless of its size."""
        best = min(self._below(size), key=lambda extent: extent.key, default=None)
        for name in self._bins_from(self._sizes.first_bin(size)):
            if self._max is not None and name >> self._max > size:
                break
            if best is None or self._first[name] < best.key:
                best = self._bins[name].least()
        return best

    def _fit_aligned(self, size: int, alignment: int) -> Extent | None:
        """Return an extent that fits because of its address; in most bins only the first is tried.

        In the bin below the first bin whose extents all fit, each examined extent is tried.
        """
        below = (extent for extent in self._below(size) if extent.holds(size, alignment))
        found = next(below, None)
        end = self._sizes.first_bin(size + alignment - PAGE)
        for name in self._bins_from(self._sizes.first_bin(size)):
            if found is not None or name >= end:
                break
            extent = self._bins[name].least()
            found = extent if extent.holds(size, alignment) else None
        return found

    def _below(self, size: int) -> list[Extent]:
        """Return the fitting extents of the bin below the first bin whose extents all fit."""
        name = self._sizes.bin_of(size)
        if not self._sizes.page_multiples or name == self._sizes.first_bin(size):
            return []
        examined = self._bins[name].breadth_first(_MAX_EXAMINED)
        return [extent for extent in examined if extent.size >= size]

    def _bins_from(self, least: int) -> list[int]:
        return sorted(name for name in self._first if name >= least)
