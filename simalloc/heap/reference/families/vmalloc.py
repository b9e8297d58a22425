"""Vo's Vmalloc, method Vmbest (simalloc/policy/families/vmalloc.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.nodes import Nodes
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State
from simalloc.policy.families.vmalloc import Vmalloc


class VmallocHeap(Heap):
    """Freed blocks wait in exact caches, a last-free slot and a catch-all list until needed.

    All waiting blocks are cached. Free are the tiny blocks (by size, the newest first), the blocks
    in the tree, and the wild block at the end of the heap.
    """

    def __init__(self, description: Vmalloc) -> None:
        super().__init__()
        overhead = description.applied_overhead
        word = description.word
        self._min = overhead.minimum
        self._alignment = overhead.alignment
        self._body = 4 * word
        self._header = overhead.header
        self._tiny_below = 56 + 2 * word + overhead.header
        self._segment = 8 * word + overhead.header if description.mechanism else 0
        self._margin = 12 * word + overhead.header + 16 if description.mechanism else 0
        self._growth = description.growth
        self._page = description.page
        self._caches: defaultdict[int, list[int]] = defaultdict(list)
        self._catch_all: list[int] = []
        self._slot: int | None = None
        self._junk: set[int] = set()
        self._tiny: defaultdict[int, list[int]] = defaultdict(list)
        self._merged: list[int] = []
        self._tree = Nodes()
        self._wild: int | None = None

    def malloc(self, size: int) -> int:
        """Try steps 1 to 5 until one of them finds a block."""
        self.visited = 0
        if size < self._tiny_below and self._caches[size]:
            self.visited += 1
            return self._allocate(self._caches[size].pop())
        found = self._use_slot(size)
        if found is not None:
            return found
        found = self._free_block(size)
        if found is None:
            found = self._use_wild(size)
        self._cut(found, size)
        return found

    def free(self, address: int) -> None:
        """Let the block wait; if a large block follows a free block, reclaim all waiting blocks."""
        self._wait(address)
        size = self.block_size(address)
        if size < self._tiny_below:
            self._caches[size].append(address)
        elif self._slot is None:
            self._slot = address
        else:
            self._catch_all.append(address)
        if size - self._header >= self._page and self.blocks.is_free(self.blocks.before(address)):
            self._reclaim(0)

    def reallocate(self, address: int, size: int) -> int:
        """Grow over free or waiting successors; else move, with extra space."""
        more = self._more(size)
        if self.reallocate_in_place(address, size):
            return address
        generous = round_up(self.block_size(address) + more, self._alignment)
        new = self.front.malloc(max(size, generous))
        self._let_wait_long(address)
        return new

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Join free or waiting successors; cut the block only if it is far too large."""
        if self.block_size(address) < size:
            self._merge_forward(address, size)
        have = self.block_size(address)
        if have < size and size - self._header > self._growth and self._is_last(address):
            self._grow(round_up(size - have + self._header, self._growth))
            self.blocks.join(address)
            have = self.block_size(address)
        if have >= size + self._more(size) + self._min:
            self._let_wait_long(self._split(address, size))
        return have >= size

    def listed(self) -> list[int]:
        """Return the tiny blocks, the blocks in the tree and the wild block."""
        tiny = [address for blocks in self._tiny.values() for address in blocks]
        return [*tiny, *self._tree, *([] if self._wild is None else [self._wild])]

    def cached(self) -> Iterable[int]:
        """Return the blocks in the caches, on the catch-all list and in the slot."""
        return self._junk

    def _use_slot(self, size: int) -> int | None:
        """Take step 2: the low end of the block freed last, if it is large enough."""
        found, self._slot = self._slot, None
        if found is None:
            return None
        self.visited += 1
        if self.block_size(found) < size:
            self._catch_all.append(found)
            return None
        if self.block_size(found) - size >= self._min:
            self._slot = self._split(found, size)
            self._junk.add(self._slot)
        return self._allocate(found)

    def _free_block(self, size: int) -> int | None:
        """Take step 3: a tiny block or the best fit; reclaim as long as blocks were waiting."""
        while True:
            fitting = [tiny for tiny, blocks in self._tiny.items() if blocks and tiny >= size]
            if fitting:
                self.visited += 1
                return self._allocate(self._tiny[min(fitting)].pop())
            if self._catch_all:
                self._reclaim(self._tiny_below)
            fit = self._tree.fitting(size)
            if fit is not None:
                self.visited += 1
                found = self._tree.of_size(fit)[0]
                self._tree.leave(found, fit)
                return self._allocate(found)
            if not self._reclaim(0):
                return None

    def _use_wild(self, size: int) -> int:
        """Take steps 4 and 5: the wild block, which grows first if too small."""
        found = self._wild
        self.visited += 1
        if found is None or self.block_size(found) < size:
            found = self._extend(size)
        else:
            self._wild = None
        return self._allocate(found)

    def _extend(self, size: int) -> int:
        """Raise the break; return the new block, merged with a free block below it."""
        need = round_up(size + self._margin, self._growth)
        if not self.brk:
            new = self._grow(need)
            if not self._segment:
                return new
            self.blocks.mark(new, State.TABLE)
            return self._allocate(self.blocks.cut(new, self._segment))
        have = 0
        if self._wild is not None:
            have = self.block_size(self._wild) // self._growth * self._growth
            if have == need:
                need += self._growth
        tail = self.blocks.before(self.brk)
        new = self._grow(need - have)
        if not self.blocks.is_free(tail):
            return new
        self._leave(tail)
        self._coalesce(tail)
        return tail

    def _cut(self, address: int, size: int) -> None:
        """Let a block's remainder wait in the slot; at the end of the heap it may become wild."""
        if self.block_size(address) - size < self._min:
            return
        rest = self._split(address, size)
        if self._tree and self._is_last(rest):
            self.blocks.mark(rest, State.FREE)
            self._wild = rest
        else:
            self._wait(rest)
            self._slot = rest

    def _reclaim(self, from_size: int, wanted: int | None = None) -> int:
        """Merge the waiting blocks: the catch-all list first, then the caches down to a size.

        Returns the number of entries of these lists. A cache is also processed if one of its blocks
        was merged on the way. The block `wanted` enters no list.
        """
        if self._slot is not None:
            self._catch_all.append(self._slot)
            self._slot = None
        count = 0
        waiting, self._catch_all = self._catch_all, []
        size = self._tiny_below
        while True:
            count += len(waiting)
            for address in reversed(waiting):
                if address in self._junk:
                    block, absorbed = self._merge(address)
                    from_size = min(from_size, absorbed)
                    if block != wanted:
                        self._enter(block)
            size = max((at for at in self._caches if at < size and self._caches[at]), default=-1)
            if size < from_size:
                break
            waiting = self._caches.pop(size)
        while self._merged:
            block = self._merged.pop()
            self._tree.enter(block, self.block_size(block))
        return count

    def _merge(self, address: int) -> tuple[int, int]:
        """Free a waiting block; merge it with free neighbours and with waiting successors.

        Returns the block and the smallest size of the merged waiting blocks.
        """
        self.blocks.mark(address, State.FREE)
        self._junk.remove(address)
        smallest = self._tiny_below
        before = self.blocks.before(address)
        if self.blocks.is_free(before):
            self._leave(before)
            self._coalesce(before)
            address = before
        while True:
            after = self.blocks.after(address)
            if after is None:
                return address, smallest
            if self.blocks.is_free(after):
                self._leave(after)
            elif after in self._junk:
                smallest = min(smallest, self.block_size(after))
                self._junk.remove(after)
            else:
                return address, smallest
            self._coalesce(address)

    def _merge_forward(self, address: int, size: int) -> None:
        """Join free or waiting successors to an allocated block until it is large enough."""
        while self.block_size(address) < size:
            after = self.blocks.after(address)
            if after is None:
                return
            if after == self._slot:
                self._slot = None
                self._junk.remove(after)
            elif after in self._junk:
                self._reclaim(min(self.block_size(after), self._tiny_below), wanted=after)
            elif self.blocks.is_free(after):
                self._leave(after)
            else:
                return
            self.blocks.mark(after, State.ALLOCATED)
            self.blocks.join(address)

    def _let_wait_long(self, address: int) -> None:
        """Put a block on the catch-all list, and then move the block in the slot there too."""
        self._wait(address)
        self._catch_all.append(address)
        if self._slot is not None:
            self._catch_all.append(self._slot)
            self._slot = None

    def _more(self, size: int) -> int:
        """Return the extra bytes of a block after a realloc."""
        data = size - self._header
        if data < 2 * self._body:
            return data
        return data // 2 if data < 1024 else 1024

    def _enter(self, address: int) -> None:
        """Record a merged block as wild or tiny, or queue it for the tree."""
        size = self.block_size(address)
        if self._is_last(address):
            self._wild = address
        elif size < self._tiny_below:
            self._tiny[size].append(address)
        else:
            self._merged.append(address)

    def _leave(self, address: int) -> None:
        size = self.block_size(address)
        if address == self._wild:
            self._wild = None
        elif size < self._tiny_below:
            self._tiny[size].remove(address)
        elif address in self._merged:
            self._merged.remove(address)
        else:
            self._tree.leave(address, size)

    def _wait(self, address: int) -> None:
        self.blocks.mark(address, State.CACHED)
        self._junk.add(address)

    def _allocate(self, address: int) -> int:
        self._junk.discard(address)
        self.blocks.mark(address, State.ALLOCATED)
        return address

    def _is_last(self, address: int) -> bool:
        return self.blocks.after(address) is None
