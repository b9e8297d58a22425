"""Best fit with coalescing in regions: TensorFlow's and XLA's BFC, and ONNX Runtime's arena."""

from __future__ import annotations

from math import floor
from typing import Final

import numpy as np

from simalloc.heap.reference.families.device.device import DeviceHeap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.policy.device import Bfc, Extend, OrtArena

UNIT: Final = 256
_FIRST_STEP: Final = 2 << 20
_BACK_OFF: Final = np.float32(0.9)
_MIN_BACK_OFF: Final = 8 << 10


class _RegionsHeap(DeviceHeap):
    """Common base of both allocators: best fit over all free chunks of all regions."""

    def __init__(self, capacity: int, limit: int, always_split: int) -> None:
        super().__init__(capacity)
        self._limit = limit
        self._always_split = always_split
        self._step = 0
        self._pool = self.add_pool()

    @property
    def largest_free(self) -> int:
        """Size of the largest free chunk."""
        return max((size for _, size in self.free_blocks()), default=0)

    def _best_fit(self, size: int, requested: int) -> int | None:
        """Allocate the low end of the best fit, or all of it.

        A chunk is split if it has at least twice the size, or if its rest has at least
        `always_split` bytes.
        """
        block = self.take_best(self._pool, 0, size)
        if block is None:
            return None
        has = self.block_size(block)
        if has >= 2 * size or has - size >= self._always_split:
            self.split(block, size)
        return self.hand_out(block, requested)

    def _room(self) -> int:
        return (self._limit - self.blocks.mapped) // UNIT * UNIT

    def _new_region(self, wanted: int, size: int, least: int = 0) -> bool:
        """Take a region; each time the device refuses, reduce its size by a tenth.

        The minimum is the larger of `size` and `least`. For at most nine units, rounding up
        restores the size. The real allocator then repeats the request forever; this model gives up.
        """
        while (address := self.take_segment(self._pool, 0, wanted)) is None:
            less = round_up(floor(np.float32(wanted) * _BACK_OFF), UNIT)
            if less < max(size, least) or less == wanted:
                return False
            wanted = less
        self.put(address)
        return True

    def _give_back(self, address: int) -> None:
        self.take(address)
        self.give_segment_back(address)


class BfcHeap(_RegionsHeap):
    """tsl/framework/bfc_allocator.cc."""

    def __init__(self, description: Bfc) -> None:
        super().__init__(description.available, description.limit, description.always_split)
        self._collection = description.collection
        self._step = min(_FIRST_STEP, self._limit) if description.growth else self._limit

    def allocate(self, size: int) -> int | None:
        """Return the best fit, after an extension or a collection if needed."""
        rounded = round_up(size, UNIT)
        block = self._best_fit(rounded, size)
        if block is None and self._extend(rounded):
            block = self._best_fit(rounded, size)
        if block is None and self._collection and self._collect(rounded) and self._extend(rounded):
            block = self._best_fit(rounded, size)
        return block

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
        """Return all entirely free regions to the device, if `size` bytes then fit."""
        whole = self.whole_blocks(self._pool)
        left = self._limit - self.blocks.mapped
        if not whole or size > left + sum(map(self.block_size, whole)):
            return False
        self.statistics.retries += 1
        for block in whole:
            self._give_back(block)
        return True


class OrtArenaHeap(_RegionsHeap):
    """onnxruntime/core/framework/bfc_arena.cc."""

    def __init__(self, description: OrtArena) -> None:
        super().__init__(description.available, description.limit, description.max_dead)
        self._step = description.initial_chunk
        self._description = description
        self._kept: int | None = None
        """Start of the first region, which is never returned to the device."""

    def allocate(self, size: int) -> int | None:
        """Return the best fit, after an extension if needed."""
        rounded = round_up(size, UNIT)
        block = self._best_fit(rounded, size)
        if block is None and self._extend(rounded):
            block = self._best_fit(rounded, size)
        return block

    def give_back(self) -> None:
        """Return free regions to the device (shrink); keep the first region if regions double."""
        doubling = self._description.extend is Extend.NEXT_POWER_OF_TWO
        for block in self.whole_blocks(self._pool):
            if not (doubling and block == self._kept):
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
        if not self._new_region(wanted, size, _MIN_BACK_OFF):
            return False
        if first:
            self._kept = self._pool.free[-1]
        return True
