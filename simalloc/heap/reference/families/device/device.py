"""Base class of the device allocators: the device, and its blocks by pool and stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sortedcontainers import SortedKeyList

from simalloc.heap.reference.families.device.statistics import DeviceStatistics
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import Refused, State
from simalloc.policy.device.base import GRANULE


class Pool:
    """Free blocks by stream, size and address; holes by stream and address."""

    def __init__(self, heap: DeviceHeap, *, small: bool) -> None:
        self.small = small
        self.searches = 0
        """Number of searches in the pool; counted only if garbage collection is on."""
        size, of = heap.blocks.size, heap.of
        self.free: SortedKeyList = SortedKeyList(key=lambda at: (of[at].stream, size[at], at))
        self.holes: SortedKeyList = SortedKeyList(key=lambda at: (of[at].stream, at))


@dataclass(slots=True)
class DeviceBlock:
    """Data of a device block in addition to the data of every heap's blocks."""

    pool: Pool
    stream: int
    origin: int = 0
    """Start of the block's address range, in which pages can be unmapped."""
    requested: int = 0
    """Bytes that the program requested, while the block is in use."""
    entered: int = 0
    """Value of the pool's `searches` when the block entered the pool, while it is free."""
    users: set[int] = field(default_factory=set)
    """Other streams that use the block."""


class DeviceHeap(Heap):
    """A heap on a device that grants multiples of 2 MiB until its capacity is used up.

    Each segment has the next higher address. `of` contains the data of each block and hole. A block
    that is neither listed nor allocated is in the state WASTE. The mapped bytes are the reserved
    bytes.
    """

    counts_frees = True

    def __init__(self, capacity: int) -> None:
        super().__init__(has_break=False)
        self.blocks.segment_alignment = GRANULE
        self.capacity = capacity
        self.taken = 0
        """Bytes granted by the device and not returned to it, in whole granules."""
        self.statistics = DeviceStatistics()
        self.of: dict[int, DeviceBlock] = {}
        self.pools: list[Pool] = []

    def add_pool(self, *, small: bool = False) -> Pool:
        """Return a new pool."""
        self.pools.append(Pool(self, small=small))
        return self.pools[-1]

    def malloc(self, size: int) -> int:
        """Return a block; raises `Refused` if memory is exhausted."""
        address = self.allocate(size)
        if address is None:
            raise Refused
        return address

    def allocate(self, size: int) -> int | None:
        """Return a block for a request of at least one byte, or None if memory is exhausted."""
        raise NotImplementedError

    def free(self, address: int) -> None:
        """Free a block, and count whether it was merged."""
        coalescings = self.coalescings
        self.release(address)
        self.count_deallocation(0, merged=self.coalescings > coalescings)

    def release(self, address: int) -> None:
        """Free a block: merge it with its free neighbours, and list the result."""
        self.take_back(address)
        merged, _ = self.merge(address)
        self.put(merged)

    def reallocate_in_place(self, address: int, size: int) -> bool:  # noqa: ARG002 - never
        """Return False."""
        return False

    def after_event(self) -> None:
        """Record the use of the reserved bytes at a new peak."""
        self.statistics.note_peak()

    def figures(self) -> dict[str, int]:
        """Return the statistics by their names in the report."""
        return self.statistics.reported() | {"largest_free": self.largest_free}

    @property
    def largest_free(self) -> int:
        """Size of the largest free block; 0 for allocators that do not report it."""
        return 0

    def listed(self) -> Iterator[int]:
        """Yield the free blocks of all pools."""
        for pool in self.pools:
            yield from pool.free

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        statistics = self.statistics
        free = sum(size for _, size in self.free_blocks())
        assert statistics.active.now + free == statistics.reserved.now == self.blocks.mapped
        assert statistics.reserved.now <= self.taken <= self.capacity
        assert self.of.keys() == self.blocks.size.keys(), "every block has an entry"

    def has_room(self, size: int) -> bool:
        """Return whether the device has `size` more bytes."""
        return self.taken + round_up(size, GRANULE) <= self.capacity

    def take_segment(self, pool: Pool, stream: int, size: int) -> int | None:
        """Return a new segment, a block in no list, or None if the device refuses."""
        if not self.has_room(size):
            return None
        address = self.blocks.map_segment(size)
        self.blocks.mark(address, State.WASTE)
        self.of[address] = DeviceBlock(pool, stream)
        self._count_granted(address)
        self.statistics.segment.change(1, small=pool.small)
        self.statistics.segments += 1
        return address

    def give_segment_back(self, address: int) -> None:
        """Return a segment to the device; it must be one block in no list."""
        self._count_freed(address)
        self.statistics.segment.change(-1, small=self.of[address].pool.small)
        self.drop_segment(address)

    def drop_segment(self, address: int) -> None:
        """Unmap the addresses of a segment."""
        self.blocks.unmap_segment(address)
        del self.of[address]

    def take_range(self, pool: Pool, stream: int, size: int) -> int:
        """Return a new range of addresses: a hole in no list."""
        address = self.blocks.reserve_segment(size)
        self.of[address] = DeviceBlock(pool, stream, origin=address)
        return address

    def map(self, address: int) -> None:
        """Map a hole that is in no list; the device must have room for it."""
        self.blocks.mark(address, State.WASTE)
        self._count_granted(address)

    def unmap(self, address: int) -> None:
        """Turn a block that is in no list into a hole."""
        self._count_freed(address)
        self.blocks.mark(address, State.HOLE)

    def put(self, address: int) -> None:
        """Add a block or a hole to the list of its pool."""
        block = self.of[address]
        if self.is_hole(address):
            block.pool.holes.add(address)
            return
        self.blocks.mark(address, State.FREE)
        block.entered = block.pool.searches
        block.pool.free.add(address)

    def take(self, address: int) -> None:
        """Remove a block or a hole from its list."""
        pool = self.of[address].pool
        if self.is_hole(address):
            pool.holes.remove(address)
            return
        pool.free.remove(address)
        self.blocks.mark(address, State.WASTE)

    def merge(self, address: int) -> tuple[int, int]:
        """Merge a block or a hole with the neighbours of its kind and stream.

        The block must be in no list, and its neighbours in their lists. Returns the new start, and
        the bytes of the merged neighbours.
        """
        kind = State.HOLE if self.is_hole(address) else State.FREE
        whole = self.block_size(address)
        for neighbour in (self.blocks.before(address), self.blocks.after(address)):
            if (
                neighbour is None
                or self.blocks.state[neighbour] is not kind
                or self.of[neighbour].stream != self.of[address].stream
            ):
                continue
            self.take(neighbour)
            address, high = sorted((address, neighbour))
            self._coalesce(address)
            del self.of[high]
        return address, self.block_size(address) - whole

    def cut(self, address: int, size: int) -> int:
        """Shorten a block in no list to `size`; return the rest, a block with the same data."""
        rest = self.blocks.cut(address, size)
        self.of[rest] = replace(self.of[address], users=set())
        return rest

    def split(self, address: int, size: int) -> None:
        """Shorten a block in no list to `size`, and list the rest."""
        self.put(self.cut(address, size))
        self.splits += 1

    def hand_out(self, address: int, requested: int) -> int:
        """Mark a block in no list as used; return its address."""
        self.blocks.mark(address, State.ALLOCATED)
        block = self.of[address]
        block.requested = requested
        self.statistics.hand_out(self.block_size(address), requested, small=block.pool.small)
        return address

    def take_back(self, address: int) -> None:
        """Take a block out of use, into no list; no stream may still use it."""
        block, size = self.of[address], self.block_size(address)
        self.blocks.mark(address, State.WASTE)
        self.statistics.take_back(size, block.requested)

    def best_fit(self, pool: Pool, stream: int, size: int) -> int | None:
        """Return the stream's smallest free block of at least `size`, the lowest of equals."""
        at = pool.free.bisect_key_left((stream, size, 0))
        found: int | None = pool.free[at] if at < len(pool.free) else None
        return found if found is not None and self.of[found].stream == stream else None

    def take_best(self, pool: Pool, stream: int, size: int) -> int | None:
        """Remove the best fit from its list; return it, or None."""
        found = self.best_fit(pool, stream, size)
        if found is not None:
            self.take(found)
        return found

    def is_hole(self, address: int) -> bool:
        """Return whether a block is a hole."""
        return self.blocks.state[address] is State.HOLE

    def whole_blocks(self, pool: Pool) -> list[int]:
        """Return the free blocks of a pool that are whole segments, in order."""
        return [address for address in pool.free if self.blocks.is_segment(address)]

    def _count_granted(self, address: int) -> None:
        size, pool = self.block_size(address), self.of[address].pool
        self.taken += round_up(size, GRANULE)
        self.statistics.device_alloc += 1
        self.growths += 1
        self.statistics.reserved.change(size, small=pool.small)
        self.mappings.append((self.event, address, size))

    def _count_freed(self, address: int) -> None:
        size, pool = self.block_size(address), self.of[address].pool
        self.taken -= round_up(size, GRANULE)
        self.statistics.device_free += 1
        self.statistics.reserved.change(-size, small=pool.small)
        self.mappings.append((self.event, address, -size))
