"""Scudo's small blocks: regions, groups, batches (simalloc/policy/families/scudo.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from sortedcontainers import SortedDict

from simalloc.heap.reference.families.scudo.configuration import (
    BATCHES,
    GROWTH,
    PAGE,
    Configuration,
)
from simalloc.heap.reference.families.scudo.random import Generator
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State

if TYPE_CHECKING:
    from simalloc.heap.reference.families.scudo.local_cache import LocalCache

_SLOT_ALIGNMENT = 2 << 20
"""Alignment of the reservation of all regions."""


@dataclass
class Slot:
    """The slot of a class's region, and the class's random numbers."""

    number: int
    first: int
    """Offset of the first block in the slot."""
    random: Generator


def draw_slots(configuration: Configuration, seed: int) -> list[Slot]:
    """Return the slot of each class, drawn from the seed."""
    generator = Generator(seed)
    states = [generator.next() for _ in configuration.sizes]
    slots = []
    for number, state in enumerate(states):
        random = Generator(state)
        first = (random.next() % 16 + 1) * PAGE
        slots.append(Slot(number, first, random))
    generator.shuffle(slots)
    return slots


class Memory:
    """The memory of one class: part of its slot is accessible, and part of that is cut.

    Accessible memory that was not cut into blocks yet is one free block, the tail.
    """

    def __init__(self, heap: Heap, configuration: Configuration, number: int, slot: Slot) -> None:
        self.heap = heap
        self.block = configuration.sizes[number]
        self.start = 0
        self.mapped = 0
        self.made = 0
        self.tail: int | None = None
        self.slot = slot.number
        self._first = slot.first
        self._min = configuration.refill(number) * self.block
        self._max = configuration.runs * self._min
        self._limit = configuration.region - slot.first
        self._is_full = False

    def make(self) -> range:
        """Return the addresses of new blocks, which are not cut apart yet.

        The range is empty if the region is full.
        """
        missing = self.made + self._min - self.mapped
        if missing > 0 and not self._grow(round_up(missing, GROWTH)):
            return range(0)
        assert self.tail is not None, "the region has space for at least one block"
        start, room = self.tail, self.mapped - self.made
        size = min(self._max, room // self.block * self.block)
        self.tail = self.heap.blocks.cut(start, size) if size < room else None
        self.made += size
        return range(start, start + size, self.block)

    def _grow(self, size: int) -> bool:
        """Make `size` more bytes accessible; return whether region and capacity allow it."""
        if self._is_full or self.mapped + size > self._limit:
            self._is_full = True
            return False
        blocks = self.heap.blocks
        if not blocks.has_room(size):
            return False
        if not self.mapped:
            slot = blocks.reserve_segment(self._first + self._limit, _SLOT_ALIGNMENT)
            self.start = blocks.cut(slot, self._first)
        grown = self.start + self.mapped
        if self.mapped + size < self._limit:
            blocks.cut(grown, size)
        blocks.mark(grown, State.FREE)
        if self.tail is None:
            self.tail = grown
        else:
            blocks.join(self.tail)
        self.mapped += size
        self.heap.growths += 1
        return True


@dataclass
class Batch:
    """An array of free blocks; `home` is the block of class 0 that contains it."""

    home: int
    blocks: list[int] = field(default_factory=list)


@dataclass
class Group:
    """The free blocks in one stretch of a region; the newest batch is the last."""

    home: int
    batches: list[Batch] = field(default_factory=list)
    count: int = 0
    """Number of free blocks."""
    mark: int = 0
    """Free bytes after the latest release, or their minimum since then."""


class Region:
    """The blocks of one class that are in no local cache: a list of groups by address."""

    def __init__(self, heap: Heap, configuration: Configuration, number: int, slot: Slot) -> None:
        self.memory = Memory(heap, configuration, number, slot)
        self.groups: SortedDict[int, Group] = SortedDict()
        self.count = 0
        self._blocks = heap.blocks
        self._configuration = configuration
        self._random = slot.random

    def push(self, cache: LocalCache, blocks: list[int]) -> None:
        """Take blocks from a local cache, which also provides the blocks that record them."""
        for block in blocks:
            self._blocks.mark(block, State.FREE)
        for number, members in groupby(sorted(blocks, key=self._group_of), key=self._group_of):
            self._enter(cache, number, list(members))

    def pop(self, cache: LocalCache, most: int) -> list[int]:
        """Return at most `most` blocks of the lowest group's newest batch, marked as cached.

        The list is empty if memory is exhausted.
        """
        if not self.groups:
            self._make(cache)
        if not self.groups:
            return []
        number: int
        group: Group
        number, group = self.groups.peekitem(0)
        batch = group.batches[-1]
        popped = batch.blocks[-most:]
        del batch.blocks[-most:]
        group.count -= len(popped)
        self.count -= len(popped)
        if not batch.blocks:
            group.batches.pop()
            cache.drop_record(batch.home)
            if not group.batches:
                del self.groups[number]
                cache.drop_record(group.home)
        for block in popped:
            self._blocks.mark(block, State.CACHED)
        return popped

    def listed(self) -> Iterator[int]:
        """Yield the free blocks, and the memory that was not made into blocks yet."""
        for group in self.groups.values():
            for batch in group.batches:
                yield from batch.blocks
        if self.memory.tail is not None:
            yield self.memory.tail

    def _make(self, cache: LocalCache) -> None:
        """Make new blocks, shuffle the blocks of each group, and enter them."""
        blocks = self.memory.make()
        for block in blocks[:-1]:
            self._blocks.cut(block, self.memory.block)
        for number, members in groupby(blocks, key=self._group_of):
            run = list(members)
            self._random.shuffle(run)
            self._enter(cache, number, run)

    def _enter(self, cache: LocalCache, number: int, blocks: list[int]) -> None:
        """Append blocks to the newest batch of their group; add a batch whenever it is full."""
        group = self.groups.get(number)
        if group is None:
            group = Group(cache.new_record())
            group.batches.append(Batch(cache.new_record()))
            self.groups[number] = group
        for block in blocks:
            if len(group.batches[-1].blocks) == self._configuration.max_cached:
                group.batches.append(Batch(cache.new_record()))
            group.batches[-1].blocks.append(block)
        group.count += len(blocks)
        self.count += len(blocks)

    def _group_of(self, block: int) -> int:
        return (block - self.memory.start) // self._configuration.group


class RecordRegion:
    """The blocks of class 0 that are in no local cache; they record themselves.

    A batch is stored in its first block. The only group is stored in a block of its oldest batch.
    """

    def __init__(self, heap: Heap, configuration: Configuration, slot: Slot) -> None:
        self.memory = Memory(heap, configuration, BATCHES, slot)
        self._heap = heap
        self._length = configuration.refill(BATCHES)
        self._group: int | None = None
        self._batches: list[list[int]] = []

    def push(self, blocks: list[int]) -> None:
        """Take blocks from a local cache."""
        blocks = blocks.copy()
        if self._group is None:
            self._group = blocks.pop()
            self._heap.touch(self._group, 1)
        if blocks and not self._batches:
            self._record(blocks.pop())
            self._batches[0].append(self._group)
        for block in blocks:
            if len(self._batches[-1]) == self._length:
                self._record(block)
            else:
                self._batches[-1].append(block)

    def pop(self) -> list[int]:
        """Return the blocks of the newest batch; [] if memory is exhausted."""
        if self._group is None:
            self._make()
        if self._group is None:
            return []
        popped = self._batches.pop() if self._batches else [self._group]
        if not self._batches:
            self._group = None
        return popped

    def _make(self) -> None:
        blocks = self.memory.make()
        if blocks:
            self._heap.blocks.mark(blocks[0], State.TABLE)
            self.push(list(blocks))

    def _record(self, block: int) -> None:
        self._heap.touch(block, 1)
        self._batches.append([block])
