"""glibc's malloc with threads (simalloc/policy/families/ptmalloc.md): the program's calls."""

from __future__ import annotations

from contextlib import suppress

from simalloc.heap.reference.families.ptmalloc.arena import Arena
from simalloc.heap.reference.families.ptmalloc.start import PtmallocStarted
from simalloc.heap.reference.parts.overhead import gross_size, round_up
from simalloc.heap.reference.space import Refused, State
from simalloc.policy.families.ptmalloc import HEAP, Ptmalloc


class PtmallocHeap(PtmallocStarted):
    """A cache for each thread, over arenas of fast lists, bins and a top.

    Blocks in a thread's cache or in a fast list are in the state CACHED.
    """

    def __init__(self, description: Ptmalloc) -> None:
        super().__init__(description)
        self._lies_at = 16 if description.mechanism else 1
        self._callocs_from_cache = description.since(41)
        self._aligns_from_cache = description.since(39)
        self._returns_at_once = description.since(38)

    def malloc(self, size: int) -> int:
        """Serve a request, from the thread's cache if it has a block of the size."""
        self._enter()
        if self._waiting:
            return self._give_waiting(size)
        self.visited = 0
        if self.request.alignment > self._lies_at:
            return self._memalign(size, self.request.alignment)
        if self.request.is_zeroed:
            return self._calloc(size)
        return self._malloc(size)

    def free(self, address: int) -> None:
        """Put the block in the thread's cache or a fast list, or merge or unmap it."""
        self._enter()
        self._check_begun()
        is_mapped = address in self._mapped
        if self._makes_cache_late:
            may_wait = self._cached_size(address) <= self._tcache_max
        else:
            may_wait = not is_mapped
        if may_wait:
            self._make_cache()
        if may_wait and self._has_room(self._cached_size(address)):
            self._put(address)
        else:
            self._release(address)

    def reallocate(self, address: int, size: int) -> int:
        """Stay if the block and its free successor are large enough; else move."""
        self._enter()
        self._check_begun()
        if address in self._mapped:
            return self._remap(address, size)
        if self._fits(address, size):
            return address
        if not self._makes_cache_late:
            self._make_cache()
        return address if self.reallocate_in_place(address, size) else self._move(address, size)

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Grow into the top or a free successor; free the excess."""
        if self.block_size(address) < size and not self._take_above(address, size):
            return False
        self._cut(address, size)
        return True

    def end_thread(self) -> None:
        """Free the blocks in the thread's cache, then the cache's table; leave the arena."""
        self._enter()
        thread = self._threads.pop(self.request.thread)
        self._cache = None
        freed = list(thread.cache or ())
        freed += [] if thread.table is None else [thread.table]
        for address in freed:
            self._release(self._allocate(address))
        if thread.arena is not None:
            self._arenas.detach(thread.arena)

    def give_back(self) -> None:
        """Purge the whole pages in free blocks of all arenas, and trim the main arena's top."""
        self._enter()
        for arena in self._arenas.ring():
            self._consolidate(arena)
            for block in (*arena.unsorted, *arena.binned()):
                inside = round_up(block + 6 * self._word, self._page)
                self.discard(inside, block + self.block_size(block) - inside)
        main = self._arenas.main
        if main.top is not None and self.block_size(main.top) <= self._keep:
            with suppress(Refused):
                self._raise_break(self._page)
        else:
            self._lower_top(main, 0)

    def figures(self) -> dict[str, int]:
        """Return the bytes of mapped blocks in use, and the figures of each arena."""
        arenas = self._arenas.all
        held = [at for at in self._mapped if self.blocks.state[at] is State.ALLOCATED]
        sizes = {self._mapped[at]: at + self.block_size(at) - self._mapped[at] for at in held}
        mapped = sum(self.resident_in(base, size) for base, size in sizes.items())
        lists = {
            "system": [arena.system for arena in arenas],
            "attached": [arena.attached for arena in arenas],
            "resident": [self._resident_of(arena) for arena in arenas],
        }
        most = min(self._description.most_arenas, self.threads) + self._first_arenas
        none = [0] * (most - len(arenas))
        return {
            "arenas": len(arenas),
            "mapped": sum(sizes.values()),
            "resident_mapped": mapped,
            "resident_total": sum(lists["resident"]) + mapped,
        } | {
            f"{name}.{number}": value
            for name, values in lists.items()
            for number, value in enumerate([*values, *none])
        }

    def locate(self, address: int) -> tuple[int, int, int]:
        """Return arena, heap number and offset of an object; the arena is -1 if it is mapped."""
        if address in self._mapped:
            return -1, 0, 0
        arena = self._arena_of(address)
        bases = [heap.base for heap in arena.heaps] or [0]
        number = bases.index(address - address % HEAP) if arena.heaps else 0
        return arena.number, number, address + 2 * self._word - bases[number]

    def listed(self) -> list[int]:
        """Return the free blocks of all arenas."""
        return [address for arena in self._arenas.all for address in arena.listed()]

    def cached(self) -> list[int]:
        """Return the blocks in the threads' caches and the fast lists."""
        caches = [address for thread in self._threads.values() for address in thread.cache or ()]
        fast = [blocks for arena in self._arenas.all for blocks in arena.fast.values()]
        return [*caches, *(address for blocks in fast for address in blocks)]

    # Requests.

    @property
    def _asked(self) -> int:
        """Scaled bytes that the program requests."""
        return self.request.size * self.scale

    def _malloc(self, size: int) -> int:
        if not self._makes_cache_late:
            self._make_cache()
        found = self._take_cached(size)
        return self._find(self._arena(self._asked), size) if found is None else found

    def _calloc(self, size: int) -> int:
        """Serve a request for zeros; memory that this call gets from the system is not written."""
        if not self._makes_cache_late:
            self._make_cache()
        found = self._take_cached(size) if self._callocs_from_cache else None
        if found is not None:
            self._write_object(found, size)
            return found
        arena = self._arena(self._asked)
        top, used = arena.top, self._used_of_top(arena)
        found = self._find(arena, size)
        if found not in self._mapped:
            written = self.block_size(found)
            self._write_object(found, min(written, used) if found == top else written)
        return found

    def _used_of_top(self, arena: Arena) -> int:
        """Return the bytes from the top's start on that may have been written before."""
        if arena.top is None:
            return 0
        if not arena.heaps:
            return self.block_size(arena.top)
        return arena.heaps[-1].base + arena.heaps[-1].ever - arena.top

    def _memalign(self, size: int, alignment: int) -> int:
        """Cut an aligned block from a larger block; free the parts in front and behind."""
        alignment = 1 << (max(alignment, self._min) - 1).bit_length()
        found = self._take_cached(size, alignment) if self._aligns_from_cache else None
        if found is not None:
            return found
        asked = size + alignment + self._min - (not self._word)
        found = self._find(self._arena(asked), gross_size(asked, self._overhead))
        payload = 2 * self._word
        place = round_up(found + payload, alignment) - payload
        anywhere = found in self._mapped and self._makes_cache_late
        if found < place < found + self._min and not anywhere:
            place += alignment
        return self._cut_to(found, place, size)

    def _cut_to(self, found: int, place: int, size: int) -> int:
        """Move the start of a block to `place`; free the bytes in front and beyond `size`."""
        is_mapped = found in self._mapped
        if place > found:
            self._split(found, place - found)
        if place > found and is_mapped:
            self.blocks.mark(found, State.WASTE)
            self._mapped[place] = self._mapped.pop(found)
        elif place > found:
            self._free_cut(found)
        rest = self.block_size(place) - size
        if not is_mapped and rest >= self._min + (not self._aligns_from_cache):
            self._free_cut(self._split(place, size))
        return place

    def _free_cut(self, address: int) -> None:
        """Free a part that memalign cuts off."""
        if self._aligns_from_cache:
            self._merge_and_trim(address)
        else:
            self._free_own(address)

    # Reallocation.

    def _fits(self, address: int, size: int) -> bool:
        """Return whether a block is large enough and has fewer than 16 excess bytes."""
        have = self.block_size(address)
        if not self._returns_at_once or not 0 <= have - size < 16:
            return False
        return not self._word or have - self._word - self._asked < 16

    def _take_above(self, address: int, size: int) -> bool:
        """Extend a block by the free block above it; return whether it is then large enough."""
        above, have, arena = self.blocks.after(address), self.block_size(address), None
        if not self.blocks.is_free(above):
            return False
        arena = self._arena_of(address)
        is_top = above == arena.top
        if have + self.block_size(above) < size + (self._keep if is_top else 0):
            return False
        if is_top:
            self._cut_top(arena, size - have)
        else:
            arena.leave(above, self.block_size(above))
            self._allocate(above)
        self.blocks.join(address)
        return True

    def _move(self, address: int, size: int) -> int:
        """Move an object to another block of its arena; join the blocks if that is the next one."""
        self.visited = 0
        new = self._search(self._arena_of(address), size)
        if new is None:
            self.visited = 0
            new = self._malloc(size)
        if new == self.blocks.after(address):
            self.blocks.join(address)
            self._cut(address, size)
            return address
        self._write_object(new, self.block_size(address))
        self._free_own(address)
        return new

    def _cut(self, address: int, size: int) -> None:
        """Free the part of an allocated block beyond `size`, if it can be a block."""
        if self.block_size(address) - size >= self._min:
            self._free_own(self._split(address, size))

    # Frees.

    def _free_own(self, address: int) -> None:
        """Free a block that an object leaves or does not fill.

        Releases before 2.43 put it into the thread's cache if the cache has room.
        """
        if self._makes_cache_late:
            self._merge_and_trim(address)
        elif self._has_room(self.block_size(address)):
            self._put(address)
        else:
            self._release(address)

    def _release(self, address: int) -> None:
        """Free a block without using a thread's cache."""
        size = self.block_size(address)
        if address in self._mapped:
            self._unmap(address)
        elif size <= self._fast_up_to:
            self.blocks.mark(address, State.CACHED)
            self.touch(address + 2 * self._word, self._word)
            self._arena_of(address).fast[size].append(address)
        else:
            self._merge_and_trim(address)

    # Resident pages.

    def _resident_of(self, arena: Arena) -> int:
        """Return the resident bytes of an arena's heaps."""
        spans = [(heap.base, heap.size) for heap in arena.heaps] or [(0, self.brk)]
        return sum(self.resident_in(base, size) for base, size in spans)
