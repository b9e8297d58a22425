"""The program's calls of a family's heap: freed blocks may wait, and the break may fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.heap.reference.space import State
from simalloc.policy import Family

if TYPE_CHECKING:
    from simalloc.heap.reference.heap import Heap


class Front:
    """A family's heap as the program sees it: quick lists and deferred coalescing over it.

    A freed block that waits is cached: it belongs to nobody, is not merged, and is handed out as it
    is to a request that takes a block of its size (docs/policies.md, Parts).
    """

    def __init__(self, heap: Heap, description: Family) -> None:
        self.heap = heap
        heap.front = self
        self._quick = description.quick
        self._cache = description.cache
        self._counts = description.count_frees and not heap.counts_frees
        # Cached blocks, the one cached last at the end: all by size, and those that count.
        self._waiting: dict[int, list[int]] = {}
        self._counted: list[int] = []

    def malloc(self, size: int) -> int:
        """Hand out a cached block of the right size, or else ask the family."""
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
        """Let the block wait, or give it to the family; then see whether the break can fall."""
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
        """Assert every invariant of the heap, and that the cached blocks are those that wait."""
        self.heap.check()
        waiting = [address for blocks in self._waiting.values() for address in blocks]
        cached = [address for address, _ in self.heap.blocks.in_state(State.CACHED)]
        assert sorted([*waiting, *self.heap.cached()]) == cached, "who caches a block knows it"
        assert len(self._counted) <= self._cache
        for size, blocks in self._waiting.items():
            assert all(self.heap.block_size(address) == size for address in blocks)

    def _wait(self, address: int) -> None:
        self.heap.blocks.mark(address, State.CACHED)
        self._waiting.setdefault(self.heap.block_size(address), []).append(address)

    def _release(self) -> None:
        """Give all blocks that count to the family, in the order in which they were freed."""
        released, self._counted = self._counted, []
        for address in released:
            self._waiting[self.heap.block_size(address)].remove(address)
            self.heap.blocks.mark(address, State.ALLOCATED)
        for address in released:
            self._give(address)

    def _give(self, address: int) -> None:
        """Give a block to the family, and count what that took if it is to be counted."""
        if not self._counts:
            self.heap.free(address)
            return
        visited, coalescings = self.heap.walk_to(address), self.heap.coalescings
        self.heap.free(address)
        self.heap.count_deallocation(visited, merged=self.heap.coalescings != coalescings)
