"""The arenas of glibc's malloc and their choice (simalloc/policy/families/ptmalloc.md)."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simalloc.heap.reference.parts.bin_number import bin_number
from simalloc.heap.reference.parts.nodes import Nodes
from simalloc.policy.families.ptmalloc import Ptmalloc


@dataclass
class ArenaHeap:
    """A heap of an arena other than the main arena: `size` bytes from `base` on are writable.

    `ever` is the maximum of `size` so far.
    """

    base: int
    size: int
    ever: int

    @property
    def end(self) -> int:
        """First address that is not writable."""
        return self.base + self.size


class Arena:
    """The free blocks of an arena, and its heaps. The main arena is number 0 and uses the break."""

    def __init__(self, number: int, description: Ptmalloc) -> None:
        self.number = number
        self.heaps: list[ArenaHeap] = []
        self.system = 0
        self.attached = 0
        self.fast: defaultdict[int, list[int]] = defaultdict(list)
        self.unsorted: OrderedDict[int, None] = OrderedDict()
        self.top: int | None = None
        self.last_remainder: int | None = None
        self._small_below = 1024 if description.word == 8 else 1008
        self._large_bins = _LARGE_BINS[description.word]
        self._small: defaultdict[int, OrderedDict[int, None]] = defaultdict(OrderedDict)
        self._large = Nodes()

    def is_small(self, size: int) -> bool:
        """Return whether blocks of this size have a separate bin per size."""
        return size < self._small_below

    def binned(self) -> Iterator[int]:
        """Iterate over the blocks in the bins."""
        yield from (address for blocks in self._small.values() for address in blocks)
        yield from self._large

    def listed(self) -> list[int]:
        """Return all free blocks: unsorted blocks, binned blocks and the top."""
        top = [] if self.top is None else [self.top]
        return [*self.unsorted, *self.binned(), *top]

    def enter(self, address: int, size: int) -> None:
        """Put a free block into its bin."""
        if self.is_small(size):
            self._small[size][address] = None
        else:
            self._large.enter(address, size)

    def leave(self, address: int, size: int) -> None:
        """Remove a free block from its list, or the top from its role."""
        if address == self.top:
            self.top = None
        elif address in self.unsorted:
            del self.unsorted[address]
        elif self.is_small(size):
            del self._small[size][address]
        else:
            self._large.leave(address, size)

    def oldest_of(self, size: int) -> int | None:
        """Return the oldest binned block of a small size, or None."""
        return next(iter(self._small[size]), None)

    def best_of(self, size: int) -> int | None:
        """Return the block to use among the smallest binned blocks of at least `size`, or None."""
        small = [have for have, blocks in self._small.items() if blocks and have >= size]
        if small:
            return self.oldest_of(min(small))
        fit = self._large.fitting(size)
        if fit is None:
            return None
        equals = self._large.of_size(fit)
        if len(equals) == 1:
            return equals[0]
        own = not self.is_small(size) and self._large_bin(size) == self._large_bin(fit)
        return equals[-1] if own else equals[1]

    def _large_bin(self, size: int) -> int:
        return bin_number(self._large_bins, size)


_LARGER = ((10752, 9, 91), (45056, 12, 110), (163840, 15, 119), (786432, 18, 124))
_LARGE_BINS = {8: ((3136, 6, 48), *_LARGER), 4: ((2944, 6, 49), *_LARGER)}
"""Large bins by word size (see `bin_number`)."""


class Arenas:
    """All arenas, the main arena first, and the choice of an arena for each thread."""

    def __init__(self, description: Ptmalloc) -> None:
        self._description = description
        self.all = [Arena(0, description)]
        self._idle: list[Arena] = []
        self._limit = description.arena_max
        self._next = 0

    @property
    def main(self) -> Arena:
        """Arena that uses the break."""
        return self.all[0]

    def limit(self, most: int) -> None:
        """Set the maximum number of arenas; 0 applies the rules."""
        self._limit = most

    def set_idle(self, arenas: list[Arena]) -> None:
        """Set the arenas without threads; the next thread gets the last one."""
        self._idle = arenas

    def ring(self) -> list[Arena]:
        """Return the main arena, then the others, the newest first."""
        return [self.main, *reversed(self.all[1:])]

    def attach(self, make: Callable[[Arena], None]) -> Arena:
        """Choose an arena for a thread without one; `make` maps the first heap of a new arena."""
        if self._idle:
            arena = self._idle.pop()
        elif self._may_grow():
            arena = Arena(len(self.all), self._description)
            make(arena)
            self.all.append(arena)
        else:
            arena = self.ring()[self._next]
            self._next = (self._next + 1) % len(self.all)
        arena.attached += 1
        return arena

    def detach(self, arena: Arena) -> None:
        """Detach an exiting thread; an arena without threads waits for the next thread."""
        arena.attached -= 1
        if arena.attached == 0:
            self._idle.append(arena)

    def _may_grow(self) -> bool:
        """Return whether another arena may be made. A limit, once set, remains."""
        test, cores = self._description.arena_test, self._description.cores
        count = len(self.all)
        if self._limit == 0:
            if self._description.since(44):
                self._limit = max(test, cores) if count >= test else 0
            else:
                self._limit = 8 * cores if count > test else 0
        return self._limit == 0 or count < self._limit
