"""Example policies in Python: `simalloc run espresso -p docs/examples/policies.py:HalfFit`.

docs/python-policies.md explains these policies. The tests run them on both engines.
"""

import numpy as np

from simalloc.policy import UserPolicy


class SequentialFit(UserPolicy):
    """Base class of the sequential fits; its addresses equal those of the catalogue's fits."""

    growth = 4096
    order = "ao"

    def free(self, heap, block):
        heap.insert(heap.merge(block))

    def resize(self, heap, block, size):
        if size < block.size:
            self.free(heap, heap.split_high(block, block.size - size))
        elif size > block.size:
            above = block.next
            if above is None or not above.is_listed or block.size + above.size < size:
                return False
            heap.join(block, heap.split(above, size - block.size))
        return True


class FirstFit(SequentialFit):
    """First fit: `first-fit-ao`, and with another order `first-fit-lifo` and `-fifo`."""

    def malloc(self, heap, size):
        block = heap.first_fit(size, self.order) or heap.grow(size, self.growth)
        return heap.split(block, size)


class BestFit(SequentialFit):
    """Best fit: `best-fit-ao`, `-lifo` and `-fifo`."""

    def malloc(self, heap, size):
        block = heap.best_fit(size, self.order) or heap.grow(size, self.growth)
        return heap.split(block, size)


class NextFit(SequentialFit):
    """Next fit: `next-fit-ao`, `-lifo` and `-fifo`."""

    def malloc(self, heap, size):
        block = heap.next_fit(size, self.order)
        if block is None:
            heap.grow(size, self.growth)
            block = heap.next_fit(size, self.order)  # moves the rover
        return heap.split(block, size)


class WorstFit(SequentialFit):
    """Worst fit: the largest free block, and the lowest of equal blocks."""

    def malloc(self, heap, size):
        block = heap.worst_fit(size, self.order) or heap.grow(size, self.growth)
        return heap.split(block, size)


class MinimumSplit(SequentialFit):
    """Best fit that does not split a block if less than `minimum` bytes would remain."""

    minimum = 256

    def malloc(self, heap, size):
        block = heap.best_fit(size) or heap.grow(size, self.growth)
        if block.size - size < self.minimum:
            return heap.remove(block)
        return heap.split(block, size)


class BetterFit(SequentialFit):
    """The smallest of the first `looks` blocks that are large enough, in address order."""

    looks = 4

    def malloc(self, heap, size):
        best = block = heap.first_fit(size)
        for _ in range(1, self.looks):
            if block is None or best.size == size:
                break
            block = heap.first_fit(size, "ao", block)
            if block is not None and block.size < best.size:
                best = block
        return heap.split(best or heap.grow(size, self.growth), size)


class HalfFit(UserPolicy):
    """Half fit (Ogasawara 1995): lists by power of two; any block of a higher list is large enough.

    The policy keeps its own lists, so the heap's index contains none of its free blocks.
    """

    growth = 4096

    def begin(self, trace):
        self.lists = [{} for _ in range(64)]  # list i: blocks of 2**i to 2**(i+1) - 1 bytes

    def malloc(self, heap, size):
        for blocks in self.lists[(size - 1).bit_length() :]:
            if blocks:
                block, _ = blocks.popitem()
                heap.visit(1)
                break
        else:
            block = heap.extend(-(-size // self.growth) * self.growth)
        taken = heap.split(block, size)
        if taken is not block:
            self.enter(block)
        return taken

    def free(self, heap, block):
        for neighbour in (block.previous, block.next):
            if neighbour is not None and neighbour.is_free:
                del self.lists[neighbour.size.bit_length() - 1][neighbour]
                heap.join(block, neighbour)
        self.enter(block)

    def enter(self, block):
        self.lists[block.size.bit_length() - 1][block] = None


class QuickLists(SequentialFit):
    """Best fit with deferred coalescing: freed small blocks wait on lists by size.

    If no free block is large enough, all waiting blocks are merged before the heap grows.
    """

    largest = 512

    def begin(self, trace):
        self.lists = {}

    def malloc(self, heap, size):
        waiting = self.lists.get(size)
        if waiting:
            heap.visit(1)
            return waiting.pop()
        block = heap.best_fit(size)
        if block is None and any(self.lists.values()):
            self.flush(heap)
            block = heap.best_fit(size)
        return heap.split(block or heap.grow(size, self.growth), size)

    def free(self, heap, block):
        if block.size <= self.largest:
            self.lists.setdefault(block.size, []).append(block)
        else:
            heap.insert(heap.merge(block))

    def flush(self, heap):
        for blocks in self.lists.values():
            for block in blocks:
                heap.insert(heap.merge(block))
            blocks.clear()


class ByLifetime(SequentialFit):
    """Clairvoyant first fit: short-lived objects take a block's high end, others its low end."""

    long = 10_000

    def begin(self, trace):
        """Compute the remaining lifetime of each event's object, in events."""
        trace = trace.in_memory()
        death = np.full(trace.objects, len(trace))
        death[trace.object[trace.op == 1]] = np.flatnonzero(trace.op == 1)
        self.left = (death[trace.object] - np.arange(len(trace))).tolist()

    def malloc(self, heap, size):
        block = heap.first_fit(size) or heap.grow(size, self.growth)
        if self.left[heap.event] < self.long:
            return heap.split_high(block, size)
        return heap.split(block, size)
