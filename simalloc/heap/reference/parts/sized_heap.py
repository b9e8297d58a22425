"""Common part of the families whose blocks have fixed sizes."""

from __future__ import annotations

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.fixed_sizes import FreeLists, smallest_size
from simalloc.heap.reference.space import State
from simalloc.policy.parts import Order


class SizedHeap(Heap):
    """A heap of blocks whose sizes are doubled from a few smallest sizes, `bases`.

    Each size has a list of free blocks, in `order`.
    """

    def __init__(self, order: Order, *bases: int) -> None:
        super().__init__()
        self._bases = bases
        self._free = FreeLists(order)

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Keep the block if the new size rounds to the same block size."""
        return self.rounded(size) == self.block_size(address)

    def rounded(self, size: int) -> int:
        """Return the smallest block size that holds a request."""
        return smallest_size(size, *self._bases)

    def listed(self) -> list[int]:
        """Return the free blocks of all sizes."""
        return list(self._free)

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        used = (at for at, state in self.blocks.state.items() if state is not State.WASTE)
        for size in set(map(self.block_size, used)):
            assert self.rounded(size) == size, "a block has a fixed size"


class RefilledHeap(SizedHeap):
    """A sized heap whose blocks are never split or merged; an empty list is refilled."""

    merges_new_memory = False

    def malloc(self, size: int) -> int:
        """Take the first block in the list of its size, or refill the list."""
        size = self.rounded(size)
        address = self._free.first(size)
        self.visited = int(address is not None)
        if address is None:
            return self._refill(size)
        self._free.leave(address, size)
        self.blocks.mark(address, State.ALLOCATED)
        return address

    def free(self, address: int) -> None:
        """Enter the block in the list of its size."""
        self.blocks.mark(address, State.FREE)
        self._free.enter(address, self.block_size(address))

    def _refill(self, size: int) -> int:
        """Return the lowest block of new memory; list the others, so that the lowest is next."""
        raise NotImplementedError
