"""Python's own allocator over another allocator (simalloc/policy/families/pymalloc.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from simalloc.heap.reference.families import heap_for
from simalloc.heap.reference.families.pymalloc.pools import GRAIN, Arena, Pool, UsableArenas
from simalloc.heap.reference.heap import Heap, Request
from simalloc.heap.reference.parts.overhead import gross_size, round_up
from simalloc.heap.reference.space import Refused, State
from simalloc.policy.families.pymalloc import Pymalloc

_LARGEST = 512
"""Maximum bytes of a request that uses a pool."""

_POOL_HEADER = 48
_LINK = 8
_POOLS = 64
"""Number of pools in an arena that begins at a multiple of the pool size."""

_SMALL_POOL = 4096

_SLOT = 48
_FIRST_SLOTS = 16
"""Initial number of entries in the table of arenas; each entry has `_SLOT` bytes."""

_NODES = ((49, 34, 262144), (34, 20, 131072))
"""Levels of the tree of arenas: lowest address bit of a node's index, lowest address bit of an
entry's index, bytes of a node."""

_ENTRY = 8

_Result = TypeVar("_Result")


class PymallocHeap(Heap):
    """Pools of small blocks in arenas; larger requests go to the allocator below.

    `arenas` contains the current arenas. Both allocators share one block table. All unused memory
    of the arenas is cached, so that the allocator below does not reuse it.
    """

    def __init__(self, description: Pymalloc) -> None:
        super().__init__()
        self.below = heap_for(description.lower)
        self.blocks = self.below.blocks
        self._overhead = description.lower.applied_overhead
        self._writes_for_below = not description.lower.writes_itself
        self._payload = description.payload
        self._pool_size = description.pool
        self._arena_size = _POOLS * description.pool
        self._keeps_last = description.keeps_last
        self._discards = description.discard_pools
        self._header = _POOL_HEADER if description.mechanism else 0
        self._has_tables = description.mechanism
        self._has_tree = description.mechanism and description.pool > _SMALL_POOL
        self._skew = description.arena_skew
        self._min = description.least
        self._usable = UsableArenas()
        self._pools: dict[int, Pool] = {}
        self._used: dict[int, list[Pool]] = {}
        self.arenas: set[Arena] = set()
        self._arenas_made = 0
        self._slots = 0
        self._table = 0
        self._nodes: dict[tuple[int, int], int] = {}

    def malloc(self, size: int) -> int:
        """Take a block of a pool; for other sizes or without an arena, call the allocator below."""
        asked = self.request.size
        if self.request.alignment or not self._min <= asked <= _LARGEST:
            return self._malloc_below(size)
        try:
            block = self._take(round_up(asked, GRAIN))
        except Refused:
            return self._malloc_below(size)
        if self.request.is_zeroed:
            self.touch(block + self._payload, asked)
        return block

    def _malloc_below(self, size: int) -> int:
        return self._written(self._ask(self.below.malloc, gross_size(size, self._overhead)))

    def free(self, address: int) -> None:
        """Free the block in its pool or in the allocator below."""
        pool = self._pool_of(address)
        if pool is None:
            self._ask(self.below.free, address)
        else:
            self._give(pool, address)

    def reallocate(self, address: int, size: int) -> int:
        """Move if the block is too small, or if more than a quarter would be unused."""
        pool = self._pool_of(address)
        if pool is None:
            gross = gross_size(size, self._overhead)
            return self._written(self._ask(self.below.reallocate, address, gross))
        if self.reallocate_in_place(address, size):
            return address
        new = self.malloc(size)
        self.touch(new + self._payload, min(pool.size, self.request.size))
        self.front.free(address)
        return new

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Return whether a pool's block still fits; otherwise call the allocator below."""
        pool = self._pool_of(address)
        if pool is None:
            gross = gross_size(size, self._overhead)
            return self._ask(self.below.reallocate_in_place, address, gross)
        return 3 * pool.size < 4 * self.request.size <= 4 * pool.size

    def end_thread(self) -> None:
        """Pass the call to the allocator below; all threads share the pools."""
        self._ask(self.below.end_thread)

    def give_back(self) -> None:
        """Pass the call to the allocator below; pools are never purged."""
        self._ask(self.below.give_back)

    def trim(self) -> None:
        """Pass the call to the allocator below."""
        self._ask(self.below.trim)

    def listed(self) -> Iterable[int]:
        """Return the free blocks of the allocator below."""
        return self.below.listed()

    def cached(self) -> Iterable[int]:
        """Return the unused blocks of the arenas, and the cached blocks of the allocator below."""
        yield from self.below.cached()
        for arena in self.arenas:
            block: int | None = arena.base
            while block is not None:
                if self.blocks.state[block] is State.CACHED:
                    yield block
                block = self.blocks.after(block)

    def rounded(self, size: int) -> int:
        """Return the block size of the allocator below."""
        return self.below.rounded(size)

    def check(self) -> None:
        """Assert the invariants of the allocator below."""
        self.below.check()

    def figures(self) -> dict[str, int]:
        """Return the figures of the allocator below."""
        return self.below.figures()

    def locate(self, address: int) -> tuple[int, int, int]:
        """Return -1, the arena and the offset in it; or zeros for the allocator below."""
        pool = self._pool_of(address)
        if pool is None:
            return 0, 0, 0
        return -1, pool.arena.number, address + self._payload - pool.arena.base

    def _written(self, address: int) -> int:
        """Record the writes of the allocator below to a block, unless it records them itself."""
        if self._writes_for_below:
            footer = self._overhead.footer
            self.touch(address, self._overhead.header)
            self.touch(address + self.blocks.size[address] - footer, footer)
            self.touch(address + self._payload, self.request.size * self.request.is_zeroed)
        return address

    def _pool_of(self, address: int) -> Pool | None:
        return self._pools.get((address + self._payload) // self._pool_size)

    def _ask(self, method: Callable[..., _Result], *arguments: int) -> _Result:
        """Call the allocator below on behalf of the program."""
        return self._call_below(self.request, method, *arguments)

    def _call_below(
        self, request: Request, method: Callable[..., _Result], *arguments: int
    ) -> _Result:
        below = self.below
        below.request, below.event, below.trace = request, self.event, self.trace
        below.scale, below.program_writes = self.scale, self.program_writes
        below.threads, below.other_threads = self.threads, self.other_threads
        below.visited = self.visited
        try:
            return method(*arguments)
        finally:
            self.visited = below.visited
            self.growths, self.splits = below.growths, below.splits
            self.coalescings = below.coalescings

    # Blocks and pools.

    def _take(self, size: int) -> int:
        """Allocate a block of `size` bytes from the first pool: the one freed last."""
        self.visited = 0
        pools = self._used.setdefault(size, [])
        pool = pools[-1] if pools else self._new_pool(size)
        if pool.free:
            block = pool.free.pop()
        else:
            block = pool.fresh
            pool.fresh += size
            if self._header and pool.fresh <= pool.last:
                self.touch(pool.fresh + self._payload, _LINK)
        pool.used += 1
        if pool.is_full:
            pools.remove(pool)
        self.blocks.mark(block, State.ALLOCATED)
        return block

    def _give(self, pool: Pool, block: int) -> None:
        """Free a block; its pool becomes the first if it was full, and leaves if it is empty."""
        pools = self._used[pool.size]
        if pool.is_full:
            pools.append(pool)
        self.blocks.mark(block, State.CACHED)
        pool.free.append(block)
        pool.used -= 1
        if not pool.used:
            pools.remove(pool)
            self._empty(pool)

    def _new_pool(self, size: int) -> Pool:
        """Take a pool of the first arena for blocks of `size` bytes."""
        arena = self._usable.first() or self._new_arena()
        self._usable.leave(arena)
        arena.free_count -= 1
        self._usable.enter(arena)
        pool = arena.emptied.pop() if arena.emptied else self._carve(arena)
        if pool.size != size:
            self._cut(pool, size)
        self._used[size].append(pool)
        return pool

    def _carve(self, arena: Arena) -> Pool:
        """Take the lowest pool that was never used."""
        pool = Pool(arena, arena.next_pool)
        arena.next_pool += self._pool_size
        if self.blocks.size[pool.address] > self._pool_size:
            self.blocks.cut(pool.address, self._pool_size)
        self._pools[pool.address // self._pool_size] = pool
        return pool

    def _cut(self, pool: Pool, size: int) -> None:
        """Cut an unused pool into a header, blocks of `size` bytes, and waste."""
        self._join(pool.address, pool.address + self._pool_size)
        block, header = pool.address, self._header - self._payload
        if header > 0:
            block = self.blocks.cut(block, header)
            self.blocks.mark(pool.address, State.TABLE)
            self.touch(pool.address, self._header)
        count = (self._pool_size - self._header) // size
        pool.size, pool.free, pool.fresh = size, [], block
        pool.last = block + (count - 1) * size
        for start in range(block, pool.last + 1, size):
            if self.blocks.size[start] > size:
                self.blocks.cut(start, size)
        rest = pool.last + size
        if rest < pool.address + self._pool_size:
            self.blocks.mark(rest, State.WASTE)

    def _join(self, start: int, end: int) -> None:
        """Join the blocks from `start` to before `end` into one cached block."""
        while start + self.blocks.size[start] < end:
            self.blocks.join(start)
        self.blocks.mark(start, State.CACHED)

    # Arenas.

    def _empty(self, pool: Pool) -> None:
        """Return an unused pool to its arena; unmap the arena if all its pools are unused.

        The last usable arena is kept if `keeps_last` is set.
        """
        arena = pool.arena
        is_kept = self._keeps_last and self._usable.is_last(arena)
        arena.emptied.append(pool)
        self._usable.leave(arena)
        arena.free_count += 1
        if arena.free_count < arena.total or is_kept:
            self._usable.enter(arena)
            if self._discards:
                pool.size = 0  # the pool's list of free blocks is lost
                self.discard(pool.address, self._pool_size)
            return
        for address in range(arena.base, arena.next_pool, self._pool_size):
            self._pools.pop(address // self._pool_size, None)
        self.arenas.remove(arena)
        self._join(arena.base, arena.base + self._arena_size)
        self.blocks.unmap_segment(arena.base)

    def _new_arena(self) -> Arena:
        """Map an arena, and enter it in the tables."""
        if self._has_tables and len(self.arenas) == self._slots:
            self._grow_table()
        base = self._map()
        skip = -base % self._pool_size
        if self._has_tree:
            try:
                self._note(base)
                if skip:
                    self._note(base + self._arena_size)
            except Refused:
                self.blocks.unmap_segment(base)
                raise
        total = _POOLS - (skip > 0)
        arena = Arena(self._arenas_made, base, base + skip, total, total)
        self.arenas.add(arena)
        self._arenas_made += 1
        self.blocks.mark(base, State.CACHED)
        if skip:
            first = self.blocks.cut(base, skip)
            self.blocks.mark(base, State.WASTE)
            self.blocks.mark(self.blocks.cut(first, total * self._pool_size), State.WASTE)
        self._usable.enter(arena)
        return arena

    def _map(self) -> int:
        """Map an arena that begins `arena_skew` bytes behind a multiple of 16 KiB."""
        self.blocks.take_room(self._arena_size + self._skew)
        if not self._skew:
            base = self.blocks.map_segment(self._arena_size, 4 * _SMALL_POOL)
        else:
            before = self.blocks.map_segment(self._skew, 4 * _SMALL_POOL)
            base = self.blocks.map_segment(self._arena_size)
            self.blocks.unmap_segment(before)
        self.below.growths += 1
        self.growths = self.below.growths
        return base

    def _grow_table(self) -> None:
        """Double the table of arenas, which the allocator below provides."""
        slots = 2 * self._slots or _FIRST_SLOTS
        if not self._slots:
            self._table = self._raw(self.below.malloc, _SLOT * slots)
        else:
            self.blocks.mark(self._table, State.ALLOCATED)
            try:
                self._table = self._raw(self.below.reallocate, _SLOT * slots, self._table)
            finally:
                self.blocks.mark(self._table, State.TABLE)
        self._slots = slots
        self.touch(self._table + self._payload, _SLOT * slots)
        self.blocks.mark(self._table, State.TABLE)

    def _note(self, address: int) -> None:
        """Enter an address in the tree, whose nodes the allocator below provides."""
        for bits, entry_bits, size in _NODES:
            key = bits, address >> bits
            if key not in self._nodes:
                node = self._raw(self.below.malloc, size, is_zeroed=True)
                self.blocks.mark(node, State.TABLE)
                self._nodes[key] = node
            place = (address >> entry_bits) % (size // _ENTRY)
            self.touch(self._nodes[key] + self._payload + place * _ENTRY, _ENTRY)

    def _raw(
        self, method: Callable[..., int], size: int, *address: int, is_zeroed: bool = False
    ) -> int:
        """Allocate a table from the allocator below; its visits do not count."""
        visited = self.visited
        request = self.request._replace(size=size, alignment=0, is_zeroed=is_zeroed)
        table = self._call_below(request, method, *address, gross_size(size, self._overhead))
        self.visited = visited
        return table
