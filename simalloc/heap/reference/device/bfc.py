"""Best fit with coalescing in regions: TensorFlow's and XLA's BFC, and ONNX Runtime's arena."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Final

import numpy as np
from sortedcontainers import SortedKeyList

from simalloc.heap.reference.device.allocator import Allocator
from simalloc.heap.reference.device.blocks import Block
from simalloc.heap.reference.device.memory import round_up
from simalloc.policy.device import Extend

if TYPE_CHECKING:
    from simalloc.policy.device import Bfc, OrtArena

UNIT: Final = 256
_FIRST_STEP: Final = 2 << 20
_BACK_OFF: Final = np.float32(0.9)
_LEAST_BACK_OFF: Final = 8 << 10


class _Regions(Allocator):
    """What both have in common: one best fit over all free chunks of all regions."""

    def __init__(self, capacity: int, limit: int, always_split: int) -> None:
        super().__init__(capacity)
        self._limit = limit
        self._always_split = always_split
        self._step = 0
        self._free: SortedKeyList = SortedKeyList(key=lambda block: (block.size, block.address))

    def free(self, block: Block) -> None:
        """Merge with the next chunk, then with the one before."""
        self.statistics.take_back(block.size, block.requested)
        block.in_use, block.requested = False, 0
        for neighbour in (block.next, block.previous):
            if neighbour is not None and not neighbour.in_use:
                self._free.remove(neighbour)
                block.absorb(neighbour)
                self.statistics.coalescings += 1
        self._free.add(block)

    def free_blocks(self) -> list[Block]:
        """Return the free chunks."""
        return list(self._free)

    def _best_fit(self, size: int) -> Block | None:
        at = self._free.bisect_key_left((size, 0))
        return self._free.pop(at) if at < len(self._free) else None

    def _hand_out(self, block: Block, size: int, requested: int) -> Block:
        """Split a chunk if it is twice as large, or the rest is large; hand out its low end."""
        if block.size >= 2 * size or block.size - size >= self._always_split:
            self._free.add(block.cut(size))
            self.statistics.splits += 1
        block.in_use, block.requested = True, requested
        self.statistics.hand_out(block.size, requested)
        return block

    def _room(self) -> int:
        return (self._limit - self.statistics.reserved.now) // UNIT * UNIT

    def _new_region(self, wanted: int, size: int, least: int = 0) -> bool:
        """Take a region, a tenth less each time the device refuses, down to `size` and `least`.

        Of nine units and fewer a tenth less is as much again, rounded up. The real allocator asks
        for that for ever; this one gives up.
        """
        while (address := self.device.allocate(wanted)) is None:
            less = round_up(floor(np.float32(wanted) * _BACK_OFF), UNIT)
            if less < max(size, least) or less == wanted:
                return False
            wanted = less
        self._free.add(Block(address, wanted))
        self.statistics.take_segment(wanted)
        return True

    def _give_back(self, block: Block) -> None:
        self._free.remove(block)
        self.device.free(block.address, block.size)
        self.statistics.give_segment_back(block.size)


class BfcAllocator(_Regions):
    """tsl/framework/bfc_allocator.cc."""

    def __init__(self, description: Bfc) -> None:
        super().__init__(description.available, description.limit, description.always_split)
        self._collection = description.collection
        self._step = min(_FIRST_STEP, self._limit) if description.growth else self._limit

    def malloc(self, size: int, stream: int, pool: int) -> Block | None:  # noqa: ARG002 - has none
        """Return the best fit, after an extension or a collection if need be."""
        rounded = round_up(size, UNIT)
        block = self._best_fit(rounded)
        if block is None and self._extend(rounded):
            block = self._best_fit(rounded)
        if block is None and self._collection and self._collect(rounded) and self._extend(rounded):
            block = self._best_fit(rounded)
        if block is None:
            self.statistics.ooms += 1
            return None
        return self._hand_out(block, rounded, size)

    def _extend(self, size: int) -> bool:
        room = self._room()
        if size > room:
            return False
        doubled = False
        while size > self._step:
            self._step *= 2
            doubled = True
        if not self._new_region(min(self._step, room), size):
            return False
        if not doubled:
            self._step *= 2
        return True

    def _collect(self, size: int) -> bool:
        """Give back all regions that are wholly free, if that can help."""
        whole = [block for block in self._free if block.whole]
        left = self._limit - self.statistics.reserved.now
        if not whole or size > left + sum(block.size for block in whole):
            return False
        self.statistics.retries += 1
        for block in whole:
            self._give_back(block)
        return True


class OrtArenaAllocator(_Regions):
    """onnxruntime/core/framework/bfc_arena.cc."""

    def __init__(self, description: OrtArena) -> None:
        super().__init__(description.available, description.limit, description.max_dead)
        self._step = description.initial_chunk
        self._description = description
        self._kept: int | None = None
        """Where the first region begins, which stays when memory is given back."""

    def malloc(self, size: int, stream: int, pool: int) -> Block | None:  # noqa: ARG002 - has none
        """Return the best fit, after an extension if need be."""
        rounded = round_up(size, UNIT)
        block = self._best_fit(rounded)
        if block is None and self._extend(rounded):
            block = self._best_fit(rounded)
        if block is None:
            self.statistics.ooms += 1
            return None
        return self._hand_out(block, rounded, size)

    def empty(self) -> None:
        """Give back regions that are wholly free (shrink); the first stays if regions double."""
        doubling = self._description.extend is Extend.NEXT_POWER_OF_TWO
        for block in [block for block in self._free if block.whole]:
            if not (doubling and block.address == self._kept):
                self._give_back(block)
        self._step = self._description.initial_growth

    def _extend(self, size: int) -> bool:
        room = self._room()
        if size > room:
            return False
        wanted = size
        if self._description.extend is Extend.NEXT_POWER_OF_TWO:
            doubled = False
            while size > self._step:
                self._step *= 2
                doubled = True
            wanted = min(self._step, room)
            if not doubled:
                self._step = min(2 * self._step, self._description.max_extend)
        first = self.statistics.segments == 0
        if not self._new_region(wanted, size, _LEAST_BACK_OFF):
            return False
        if first:
            self._kept = self._free[-1].address if len(self._free) else None
        return True
