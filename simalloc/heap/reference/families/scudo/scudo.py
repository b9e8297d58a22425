"""Scudo, the hardened allocator of LLVM and Android (simalloc/policy/families/scudo.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simalloc.heap.reference.families.scudo.chunk import Chunk
from simalloc.heap.reference.families.scudo.configuration import BATCHES, CONFIGURATIONS, PAGE
from simalloc.heap.reference.families.scudo.local_cache import LocalCache
from simalloc.heap.reference.families.scudo.primary import (
    Memory,
    RecordRegion,
    Region,
    draw_slots,
)
from simalloc.heap.reference.families.scudo.quarantine import BATCH_BYTES, Batch, Waiting
from simalloc.heap.reference.families.scudo.release import Kind, Release
from simalloc.heap.reference.families.scudo.secondary import Secondary
from simalloc.heap.reference.families.scudo.thread_caches import Local, Locals
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.fixed_sizes import smallest_size
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State
from simalloc.policy.families.scudo import Purge, Scudo

_GRAIN = 16
"""Alignment of blocks for the program, in bytes."""

_HEADER = 16
_HEADER_USED = 8

_UPTIME = 1_000_000_000_000
"""System clock at the start, in nanoseconds."""

_MAX_SLOTS = 50
"""Maximum number of slots in the figures."""

_MARKER = 8
"""Bytes in front of an aligned block that locate its header."""

_LARGEST_UNUSED = 1 << 20
"""A large block's header stores the number of unused bytes at its end modulo this number."""


class ScudoHeap(Heap):
    """Regions of shuffled small blocks behind local caches, and a cache of mappings."""

    def __init__(self, description: Scudo) -> None:
        super().__init__()
        self._configuration = configuration = CONFIGURATIONS[description.config]
        self._payload = _HEADER if description.mechanism else 0
        self._tick = description.tick
        self._purge = description.purge
        self._interval = description.primary_interval
        slots = draw_slots(configuration, description.seed)
        self._regions = {
            number: Region(self, configuration, number, slots[number])
            for number in range(1, len(configuration.sizes))
        }
        self._releases = {
            number: Release(region, configuration, slots[number].number)
            for number, region in self._regions.items()
        }
        self._records = (
            RecordRegion(self, configuration, slots[0]) if description.mechanism else None
        )
        self._secondary = Secondary(
            self,
            self._give_back,
            payload=self._payload,
            count=description.cache_count_max,
            largest=description.largest_cached,
            interval=description.secondary_interval,
        )
        self._locals = Locals(self._new_local, description.caches)
        self._chunks: dict[int, Chunk] = {}
        self._waiting = Waiting()
        self._max_waiting = description.quarantine_size_kb << 10
        self._max_waiting_locally = description.thread_local_quarantine_size_kb << 10
        self._largest_waiting = description.quarantine_max_chunk_size
        self._batch_class = configuration.class_for(BATCH_BYTES)
        self._madvise_calls = 0
        self._madvise_bytes = 0

    # The program's calls.

    def malloc(self, size: int) -> int:
        """Take a small block from the local cache, or a mapping."""
        self.visited = 0
        alignment = smallest_size(self.request.alignment, _GRAIN)
        chunk = self._allocate_small(size, alignment)
        if chunk is None:
            position, mapping = self._secondary.allocate(size, alignment)
            chunk = Chunk(self._asked(size), position, mapping=mapping)
        if self.request.is_zeroed:
            self._zero(chunk)
        self._chunks[chunk.position - self._payload] = chunk
        return chunk.position - self._payload

    def free(self, address: int) -> None:
        """Put the block in the local cache or the quarantine, or its mapping in the cache."""
        chunk = self._chunks.pop(address)
        local = self._locals.of(self.request.thread, only_frees=True)
        if chunk.mapping is not None:
            self._secondary.free(chunk.mapping, self._now)
            return
        self._join(chunk)
        if self._max_waiting_locally and 0 < chunk.size <= self._largest_waiting:
            self._put_in_quarantine(local, chunk)
        elif local.cache.free(chunk.number, chunk.block):
            self._release(chunk.number, Kind.NORMAL)

    def reallocate(self, address: int, size: int) -> int:
        """Stay if the block is large enough and shrinks by less than a page; else move."""
        self._locals.of(self.request.thread)
        if self.reallocate_in_place(address, size):
            return address
        old = self._chunks[address].size
        new = self.front.malloc(size)
        self.touch(new + self._payload, min(old, size))
        self.front.free(address)
        return new

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Return whether the block holds `size` bytes and shrinks by less than a page."""
        chunk = self._chunks[address]
        old = self._size_read(chunk)
        if chunk.position + size > self._end(chunk) or old - size >= PAGE:
            return False
        chunk.size = self._asked(size)
        return True

    def end_thread(self) -> None:
        """Return the thread's local blocks and quarantine to the shared structures."""
        local = self._locals.end(self.request.thread)
        if local is not None:
            self._collect(local)
            local.cache.empty()

    def give_back(self) -> None:
        """Return pages to the system without waiting, as M_PURGE or M_PURGE_ALL do."""
        if self._purge is Purge.ALL:
            for local in self._locals.reached(self.request.thread):
                self._waiting.append(local.waiting)
                self._recycle(local, 0)
                local.cache.empty()
        for number in self._regions:
            self._release(number, Kind.ALL if self._purge is Purge.ALL else Kind.FORCED)
        self._secondary.clear_cached()

    def rounded(self, size: int) -> int:
        """Return the block size for a small request, or the needed bytes for a large one."""
        needed = round_up(size, _GRAIN) + self._payload
        number = self._configuration.class_for(needed)
        if number == len(self._configuration.sizes):
            return needed
        return self._configuration.sizes[number]

    def listed(self) -> Iterable[int]:
        """Return the blocks in the regions' batches, and memory not made into blocks yet."""
        for region in self._regions.values():
            yield from region.listed()
        if self._records is not None and self._records.memory.tail is not None:
            yield self._records.memory.tail

    def cached(self) -> Iterable[int]:
        """Return the blocks in local caches and in the quarantine, and the cached mappings."""
        for local in self._locals.all():
            yield from local.cache.blocks()
        lists = (self._waiting, *(local.waiting for local in self._locals.all()))
        for waiting in lists:
            for batch in waiting.batches:
                yield from (chunk.block for chunk in batch.chunks)
        yield from self._secondary.cached()

    def figures(self) -> dict[str, int]:
        """Return bytes, resident pages and calls for small and large blocks, and for each slot.

        A slot's figure packs the class, the mapped pages and the resident pages, 21 bits each.
        """
        mapped = resident = 0
        slots = {f"slot_{slot:02}": 0 for slot in range(_MAX_SLOTS)}
        for number, memory in self._memories():
            pages = self.resident_in(memory.start, memory.mapped) // PAGE
            mapped += memory.mapped
            resident += pages
            packed = (number << 42) + (memory.mapped // PAGE << 21) + pages
            slots[f"slot_{memory.slot:02}"] = packed
        return {
            "mapped_primary": mapped,
            "mapped_secondary": self._secondary.mapped,
            "mappings_secondary": self._secondary.mappings,
            "resident_primary": resident,
            "resident_secondary": self.resident // PAGE - resident,
            "madvise_calls": self._madvise_calls,
            "madvise_bytes": self._madvise_bytes,
            **slots,
        }

    def locate(self, address: int) -> tuple[int, int, int]:
        """Return 0, class and offset in its region; for a mapping 1, its number and the offset."""
        chunk = self._chunks[address]
        if chunk.mapping is not None:
            return 1, chunk.mapping.number, chunk.position - chunk.mapping.base
        start = self._regions[chunk.number].memory.start
        return 0, chunk.number, chunk.position - start

    def _memories(self) -> Iterator[tuple[int, Memory]]:
        """Yield the classes with mapped memory."""
        memories = {number: region.memory for number, region in self._regions.items()}
        if self._records is not None:
            memories[BATCHES] = self._records.memory
        for number, memory in memories.items():
            if memory.mapped:
                yield number, memory

    @property
    def _now(self) -> int:
        return _UPTIME + self.request.time + self._tick * (self.event + 1)

    def _asked(self, size: int) -> int:
        """Return the requested size, or 0 for malloc(0)."""
        return size if self.request.size else 0

    def _new_local(self) -> Local:
        return Local(LocalCache(self, self._configuration, self._regions, self._records))

    def _allocate_small(self, size: int, alignment: int) -> Chunk | None:
        """Take a block of the smallest class, or of a larger class whose region is not full."""
        local = self._locals.of(self.request.thread)
        needed = round_up(size, _GRAIN) + self._payload + alignment - _GRAIN
        for number in range(self._configuration.class_for(needed), len(self._regions) + 1):
            block = local.cache.allocate(number)
            if block is not None:
                position = round_up(block + self._payload, alignment)
                return self._cut(Chunk(self._asked(size), position, number, block))
        return None

    def _cut(self, chunk: Chunk) -> Chunk:
        """Mark the part in front of an aligned block as waste, and write the block's header."""
        start = chunk.position - self._payload
        if start > chunk.block:
            self.blocks.mark(chunk.block, State.WASTE)
            self.blocks.cut(chunk.block, start - chunk.block)
            if self._payload:
                self.touch(chunk.block, _MARKER)
        self.blocks.mark(start, State.ALLOCATED)
        if self._payload:
            self.touch(start, _HEADER_USED)
        return chunk

    def _join(self, chunk: Chunk) -> None:
        """Join an aligned block and the part in front of it into one cached block."""
        if chunk.position - self._payload > chunk.block:
            self.blocks.join(chunk.block)
        self.blocks.mark(chunk.block, State.CACHED)

    def _zero(self, chunk: Chunk) -> None:
        """Write zeros to memory that may have been used before."""
        if chunk.mapping is None:
            self.touch(chunk.block, self._regions[chunk.number].memory.block)
        elif chunk.mapping.time:
            self.touch(chunk.position, chunk.mapping.end - chunk.position)

    def _end(self, chunk: Chunk) -> int:
        """Return the end of the memory that the chunk could use."""
        if chunk.mapping is not None:
            return chunk.mapping.end
        return chunk.block + self._regions[chunk.number].memory.block

    def _size_read(self, chunk: Chunk) -> int:
        """Return the chunk's size as its header stores it."""
        if chunk.mapping is None:
            return chunk.size
        room = chunk.mapping.end - chunk.position
        return room - (room - chunk.size) % _LARGEST_UNUSED

    def _release(self, number: int, kind: Kind) -> None:
        """Release the pages of a class that are due."""
        for address, size in self._releases[number].look(kind, self._now, self._interval):
            self._give_back(address, size)

    def _give_back(self, address: int, size: int) -> None:
        self.discard(address, size)
        self._madvise_calls += 1
        self._madvise_bytes += size

    def _put_in_quarantine(self, local: Local, chunk: Chunk) -> None:
        """Put a freed block into the local quarantine."""
        batches = local.waiting.batches
        if not batches or batches[-1].is_full:
            home = local.cache.allocate(self._batch_class)
            assert home is not None, "memory for the batch is available"
            self.blocks.mark(home, State.TABLE)
            batches.append(Batch(home))
        batches[-1].add(chunk)
        self.touch(batches[-1].home, self._payload + batches[-1].used)
        if local.waiting.weight > self._max_waiting_locally:
            self._collect(local)

    def _collect(self, local: Local) -> None:
        """Move a local quarantine to the global one; above its maximum, free the oldest blocks."""
        self._waiting.append(local.waiting)
        if self._waiting.weight > self._max_waiting:
            self._recycle(local, self._max_waiting // 10 * 9)

    def _recycle(self, local: Local, most: int) -> None:
        """Free the oldest blocks into a local cache until at most `most` bytes wait."""
        for batch in self._waiting.recycle(most):
            for chunk in batch.shuffled():
                local.cache.free(chunk.number, chunk.block)
            self.blocks.mark(batch.home, State.CACHED)
            local.cache.free(self._batch_class, batch.home)
