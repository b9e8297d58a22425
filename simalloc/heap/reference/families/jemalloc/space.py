"""Address space shared by jemalloc's arenas: mappings, adjacent extents, and the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from simalloc.heap.reference.families.jemalloc.extents import Extent, Mapping
from simalloc.heap.reference.families.jemalloc.size_classes import HUGE_PAGE, PAGE, Sizes
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.space import State, needed_by_allocator
from simalloc.policy.families.jemalloc import Jemalloc

if TYPE_CHECKING:
    from simalloc.heap.reference.families.jemalloc.metadata import Metadata
    from simalloc.heap.reference.families.jemalloc.page_allocator import Pages

_TOP: Final = 0x7FFFE5800000
"""End of the first mapping; each later mapping is below the earlier mappings."""
_WINDOW: Final = 1 << 30
"""Segments keep Linux's addresses modulo this number."""
_LEAF_SPAN: Final = 1 << 30
"""Addresses covered by one leaf of the address tree, in bytes."""
_LEAF_BYTES: Final = 2 << 20


class JemallocSpace:
    """Memory of all arenas; `leaves` provides the leaves of the address tree."""

    def __init__(self, heap: Heap, description: Jemalloc) -> None:
        self.description = description
        self.sizes = Sizes(description)
        self.now = 0
        self.leaves: Metadata | None = None
        self._heap = heap
        self._top = _TOP
        self._mappings = 0
        self._leaf: dict[int, int] = {}
        self._starting: dict[int, Extent] = {}
        self._ending: dict[int, Extent] = {}

    def map(self, pages: Pages, size: int, alignment: int = PAGE) -> Extent:
        """Map a new extent for an arena at a multiple of `alignment`."""
        place = self._place(size, alignment)
        below = place % _WINDOW
        heap = self._heap
        heap.growths += 1
        address = heap.blocks.reserve_segment(below + size, _WINDOW)
        if below:
            address = heap.blocks.cut(address, below)
        mapping = Mapping(self._mappings, address, size, place)
        self._mappings += 1
        extent = Extent(pages, mapping, address, size)
        self._enter(extent)
        self._register(mapping, address)
        self._register(mapping, address + size - PAGE)
        return extent

    def has_room(self, size: int) -> bool:
        """Return whether the capacity allows `size` more bytes."""
        return self._heap.blocks.has_room(size)

    def take_room(self, size: int) -> None:
        """Raise `Refused` if the capacity does not allow `size` more bytes."""
        self._heap.blocks.take_room(size)

    def map_table(self, size: int) -> int:
        """Map a block of metadata; return its address."""
        self._place(size)
        with needed_by_allocator():
            address = self._heap.blocks.map_segment(size)
        self._heap.blocks.mark(address, State.TABLE)
        return address

    def split(self, extent: Extent, size: int) -> Extent:
        """Cut an extent down to `size`; return the rest as a new extent."""
        self._leave(extent)
        high = Extent(extent.pages, extent.mapping, extent.address + size, extent.size - size)
        high.is_zero = extent.is_zero
        extent.size = size
        self._heap.splits += 1
        self._heap.blocks.cut(extent.address, size)
        self._enter(extent)
        self._enter(high)
        self._register(extent.mapping, high.address - PAGE)
        self._register(extent.mapping, high.address)
        return high

    def merge(self, low: Extent, high: Extent) -> None:
        """Merge two adjacent extents of one state into the low one."""
        self._leave(low)
        self._leave(high)
        low.size += high.size
        self._heap.coalescings += 1
        self._heap.blocks.join(low.address)
        self._enter(low)

    def drop(self, extent: Extent) -> None:
        """Remove an extent whose addresses are not retained."""
        self._leave(extent)

    def set_state(self, extent: Extent, state: State) -> None:
        """Change the state of an extent, which is one block; a hole loses its pages."""
        with needed_by_allocator():
            self._heap.blocks.mark(extent.address, state)

    def neighbour_above(self, extent: Extent) -> Extent | None:
        """Return the extent that follows in the same mapping, or None."""
        other = self._starting.get(extent.end)
        return other if other is not None and other.mapping is extent.mapping else None

    def neighbour_below(self, extent: Extent) -> Extent | None:
        """Return the extent that precedes in the same mapping, or None."""
        other = self._ending.get(extent.address)
        return other if other is not None and other.mapping is extent.mapping else None

    def register_inside(self, extent: Extent) -> None:
        """Register the inner pages of a slab in the address tree."""
        for address in range(extent.address + PAGE, extent.end - PAGE, PAGE):
            self._register(extent.mapping, address)

    def touch(self, address: int, size: int) -> None:
        """Write to a table, if the policy has tables."""
        if self.description.mechanism:
            self._heap.touch(address, size)

    def extents(self) -> list[Extent]:
        """Return all extents."""
        return list(self._starting.values())

    def _place(self, size: int, alignment: int = PAGE) -> int:
        """Return Linux's address of a mapping, below the previous mapping; map nothing.

        A mapping of whole huge pages begins at a multiple of a huge page.
        """
        self._top -= size
        self._top -= self._top % max(alignment, HUGE_PAGE if size % HUGE_PAGE == 0 else PAGE)
        return self._top

    def _register(self, mapping: Mapping, address: int) -> None:
        """Register a page in the address tree, which has a leaf for each GiB in use."""
        if self.leaves is None:
            return
        place = address - mapping.address + mapping.place
        number = place // _LEAF_SPAN
        if number not in self._leaf:
            self._leaf[number] = self.leaves.allocate(_LEAF_BYTES, 64)
        self.touch(self._leaf[number] + place % _LEAF_SPAN // PAGE * 8, 8)

    def _enter(self, extent: Extent) -> None:
        self._starting[extent.address] = extent
        self._ending[extent.end] = extent

    def _leave(self, extent: Extent) -> None:
        del self._starting[extent.address]
        del self._ending[extent.end]
