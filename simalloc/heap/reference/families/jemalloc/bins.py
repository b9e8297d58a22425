"""jemalloc's slabs of small objects."""

from __future__ import annotations

from collections.abc import Callable

from sortedcontainers import SortedSet

from simalloc.heap.reference.families.jemalloc.extents import Extent
from simalloc.heap.reference.families.jemalloc.size_classes import SMALL_CLASSES


class Slab:
    """An extent cut into regions of one class."""

    def __init__(self, extent: Extent, number: int) -> None:
        self.extent = extent
        self.number = number
        self.width = SMALL_CLASSES[number]
        self.regions = extent.size // self.width
        self.free: SortedSet[int] = SortedSet(range(self.regions))

    @property
    def is_full(self) -> bool:
        """True if no region is free."""
        return not self.free

    @property
    def is_empty(self) -> bool:
        """True if all regions are free."""
        return len(self.free) == self.regions

    def addresses(self) -> range:
        """Return the addresses of all regions."""
        start = self.extent.address
        return range(start, start + self.regions * self.width, self.width)

    def take(self) -> int:
        """Take the lowest free region; return its address."""
        lowest: int = self.free.pop(0)
        return self.extent.address + lowest * self.width

    def put_back(self, address: int) -> None:
        """Free a region."""
        self.free.add((address - self.extent.address) // self.width)


class Bin:
    """The slabs of one class in an arena: a current slab, and other slabs that are not full."""

    def __init__(self, number: int, new_slab: Callable[[int], Slab]) -> None:
        """`new_slab` returns a new slab of the class."""
        self._number = number
        self._new_slab = new_slab
        self.current: Slab | None = None
        self._nonfull: SortedSet[Slab] = SortedSet(key=lambda slab: slab.extent.key)

    @property
    def next_slab(self) -> Slab | None:
        """Current slab, or else the first slab that is not full, or None."""
        if self.current is None and self._nonfull:
            first: Slab = self._nonfull[0]
            return first
        return self.current

    def find(self) -> Slab:
        """Return a slab that is not full, which becomes the current slab."""
        if self.current is None or self.current.is_full:
            if self._nonfull:
                self.current = self._nonfull.pop(0)
            else:
                self.current = self._new_slab(self._number)
        return self.current

    def put_back(self, slab: Slab, address: int) -> bool:
        """Free a region; return whether its slab is empty and has left the bin."""
        was_full = slab.is_full
        slab.put_back(address)
        if slab.is_empty:
            if slab is self.current:
                self.current = None
            elif not was_full:
                self._nonfull.remove(slab)
            return True
        if was_full and slab is not self.current:
            current = self.current
            if current is not None and slab.extent.key < current.extent.key:
                self.current = slab
                if not current.is_full:
                    self._nonfull.add(current)
            else:
                self._nonfull.add(slab)
        return False
