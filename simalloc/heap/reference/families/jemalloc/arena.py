"""An arena of jemalloc: its pages, its slabs and its large objects."""

from __future__ import annotations

from typing import Final

from simalloc.heap.reference.families.jemalloc.bins import Bin, Slab
from simalloc.heap.reference.families.jemalloc.decay import Random
from simalloc.heap.reference.families.jemalloc.extents import Extent
from simalloc.heap.reference.families.jemalloc.page_allocator import Pages
from simalloc.heap.reference.families.jemalloc.size_classes import PAGE, SMALL_CLASSES, offset_step
from simalloc.heap.reference.families.jemalloc.space import JemallocSpace
from simalloc.heap.reference.space import Blocks, State

_MIN_ALIGNMENT: Final = 64


class Large:
    """A large object, the only object in its extent."""

    def __init__(self, arena: Arena, extent: Extent, address: int, usable: int) -> None:
        self.arena = arena
        self.extent = extent
        self.address = address
        self.usable = usable


class Arena:
    """An arena. All arenas share the maps from addresses to slabs and to large objects."""

    def __init__(
        self,
        number: int,
        pages: Pages,
        space: JemallocSpace,
        blocks: Blocks,
        objects: tuple[dict[int, Slab], dict[int, Large]],
    ) -> None:
        self.number = number
        self.pages = pages
        self.threads = 0
        # Bytes of objects, including those in thread caches, and bytes of their extents.
        self.allocated = 0
        self.active = 0
        self.bins = [Bin(number, self._new_slab) for number in range(len(SMALL_CLASSES))]
        self._space = space
        self._blocks = blocks
        self._slabs, self._large = objects

    def allocate_small(self, number: int) -> int:
        """Take the lowest free region of the current slab; return its address."""
        address = self.bins[number].find().take()
        self._blocks.mark(address, State.ALLOCATED)
        self.allocated += SMALL_CLASSES[number]
        return address

    def put_back(self, address: int) -> Slab | None:
        """Free a region; return its slab if the slab is empty and must be freed."""
        slab = self._slabs[address]
        self._blocks.mark(address, State.FREE)
        self.allocated -= slab.width
        return slab if self.bins[slab.number].put_back(slab, address) else None

    def free_slab(self, slab: Slab) -> None:
        """Free the pages of an empty slab."""
        for address in slab.addresses():
            del self._slabs[address]
        self._free_extent(slab.extent)

    def allocate_large(self, usable: int, alignment: int, random: Random) -> Large:
        """Return a large object."""
        alignment = max(alignment, _MIN_ALIGNMENT)
        pad = self._space.sizes.pad
        extent = self.pages.allocate(usable + pad, alignment)
        self.active += extent.size
        self.allocated += usable
        address = extent.address
        if pad and alignment < PAGE:
            step = offset_step(alignment)
            address += step * random.bits((PAGE // step).bit_length() - 1)
        large = Large(self, extent, address, usable)
        self._lay_out(large)
        return large

    def free_large(self, large: Large) -> None:
        """Free a large object."""
        self.allocated -= large.usable
        del self._large[large.address]
        self._free_extent(large.extent)

    def resize(self, large: Large, usable: int) -> bool:
        """Resize a large object in place; return whether this succeeded."""
        change = usable - large.usable
        self._make_plain(large.extent)
        grown = change <= 0 or self.pages.expand(large.extent, change)
        if change < 0:
            self.pages.shrink(large.extent, usable + self._space.sizes.pad)
        if grown:
            large.usable = usable
            self.active += change
            self.allocated += change
        self._lay_out(large)
        return grown

    def _new_slab(self, number: int) -> Slab:
        size = self._space.sizes.slabs[number]
        extent = self.pages.allocate(size)
        self.active += size
        slab = Slab(extent, number)
        self._space.register_inside(extent)
        self._blocks.mark(extent.address, State.FREE)
        for address in slab.addresses():
            self._slabs[address] = slab
            if address + slab.width < extent.end:
                rest = self._blocks.cut(address, slab.width)
        if slab.regions * slab.width < size:
            self._blocks.mark(rest, State.WASTE)
        return slab

    def _lay_out(self, large: Large) -> None:
        """Cut a large object's extent into blocks: the object, and waste around it."""
        blocks, extent = self._blocks, large.extent
        blocks.mark(extent.address, State.WASTE)
        if large.address > extent.address:
            blocks.cut(extent.address, large.address - extent.address)
        if large.address + large.usable < extent.end:
            blocks.cut(large.address, large.usable)
        blocks.mark(large.address, State.ALLOCATED)
        self._large[large.address] = large

    def _free_extent(self, extent: Extent) -> None:
        self.active -= extent.size
        self._make_plain(extent)
        self.pages.free(extent)

    def _make_plain(self, extent: Extent) -> None:
        """Join all blocks of an extent into one waste block."""
        while self._blocks.size[extent.address] < extent.size:
            self._blocks.join(extent.address)
        self._blocks.mark(extent.address, State.WASTE)
