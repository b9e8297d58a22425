"""The program's entry to a family's heap: quick lists, deferred coalescing and trimming."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.heap.reference.space import State
from simalloc.policy import Family

if TYPE_CHECKING:
    from simalloc.heap.reference.heap import Heap


class Front:
    """A family's heap as the program sees it, with quick lists and deferred coalescing.

    A freed block that waits is cached. It is not merged. It is allocated whole to a request for a
    block of its size (docs/policies.md, Parts).
    """

    def __init__(self, heap: Heap, description: Family) -> None:
        self.heap = heap
        heap.front = self
        self._quick = description.quick
        self._cache = description.cache
        self._counts = description.count_frees and not heap.counts_frees
        # Cached blocks by size, and those that count towards the cache's limit; the newest is last.
        self._waiting: dict[int, list[int]] = {}
        self._counted: list[int] = []

    def malloc(self, size: int) -> int:
        """Return a cached block of the right size, or else call the family."""
        waiting = self._waiting.get(self.heap.rounded(size))
        if not waiting:
            return self.heap.malloc(size)
        self.heap.visited = 1
        address = waiting.pop()
        if address in self._counted:
            self._counted.remove(address)
        self.heap.blocks.mark(address, State.ALLOCATED)
        return address

    def free(self, address: int) -> None:
        """Cache the block or pass it to the family; then let the family trim the break."""
        size = self.heap.block_size(address)
        if size <= self._quick:
            self._wait(address)
        elif self._cache:
            self._wait(address)
            self._counted.append(address)
            if len(self._counted) > self._cache:
                self._release()
        else:
            self._give(address)
        self.heap.trim()

    def check(self) -> None:
        """Assert every invariant of the heap, and that exactly the waiting blocks are cached."""
        self.heap.check()
        waiting = [address for blocks in self._waiting.values() for address in blocks]
        cached = [address for address, _ in self.heap.blocks.in_state(State.CACHED)]
        assert sorted([*waiting, *self.heap.cached()]) == cached, "every cached block is in a cache"
        assert len(self._counted) <= self._cache
        for size, blocks in self._waiting.items():
            assert all(self.heap.block_size(address) == size for address in blocks)

    def _wait(self, address: int) -> None:
        self.heap.blocks.mark(address, State.CACHED)
        self._waiting.setdefault(self.heap.block_size(address), []).append(address)

    def _release(self) -> None:
        """Pass all counted blocks to the family, in the order in which they were freed."""
        released, self._counted = self._counted, []
        for address in released:
            self._waiting[self.heap.block_size(address)].remove(address)
            self.heap.blocks.mark(address, State.ALLOCATED)
        for address in released:
            self._give(address)

    def _give(self, address: int) -> None:
        """Pass a block to the family, and count the blocks visited if the policy counts frees."""
        if not self._counts:
            self.heap.free(address)
            return
        visited, coalescings = self.heap.walk_to(address), self.heap.coalescings
        self.heap.free(address)
        self.heap.count_deallocation(visited, merged=self.heap.coalescings != coalescings)
