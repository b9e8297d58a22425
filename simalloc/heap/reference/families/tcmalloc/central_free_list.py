"""The central free list of a size class: chains of blocks, and spans cut into blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simalloc.heap.reference.families.tcmalloc.size_map import SizeClass
from simalloc.heap.reference.space import State

if TYPE_CHECKING:
    from simalloc.heap.reference.families.tcmalloc.tcmalloc import TcmallocHeap

_FIRST_CACHE_SIZE = 16
"""Initial number of chain slots."""


@dataclass(eq=False)
class Span:
    """A span cut into blocks of one class. `free` contains its free blocks, the newest last."""

    address: int
    number: int
    used: int = 0
    free: list[int] = field(default_factory=list)


class TransferCache:
    """Slots for chains of exactly `move` blocks each; the newest chain is taken first."""

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size
        self.size = min(_FIRST_CACHE_SIZE, max_size)
        self.chains: list[list[int]] = []

    @property
    def is_full(self) -> bool:
        """True if no slot is free."""
        return len(self.chains) == self.size


class CentralFreeList:
    """The shared part of one class; `number` is the class's number, from 1 on."""

    def __init__(self, heap: TcmallocHeap, number: int, kind: SizeClass) -> None:
        self._heap = heap
        self.number = number
        self.kind = kind
        self.transfer = TransferCache(kind.max_cache_size)
        self.span_count = 0
        self._nonempty: dict[Span, None] = {}

    @property
    def free_bytes(self) -> int:
        """Bytes of the spans' free blocks and of the unused ends of the spans."""
        blocks = sum(len(span.free) for span in self._nonempty)
        tail = self.kind.pages * self._heap.page % self.kind.size
        return blocks * self.kind.size + self.span_count * tail

    @property
    def chained_bytes(self) -> int:
        """Bytes of the blocks in chains."""
        return sum(map(len, self.transfer.chains)) * self.kind.size

    def listed(self) -> list[int]:
        """Return the free blocks of the spans."""
        return [block for span in self._nonempty for block in span.free]

    def chained(self) -> list[int]:
        """Return the blocks in chains."""
        return [block for chain in self.transfer.chains for block in chain]

    def insert(self, chain: list[int]) -> None:
        """Take a chain of blocks, its first block first."""
        if len(chain) == self.kind.move and self._make_cache_space():
            self.transfer.chains.append(chain)
        else:
            self.release_list_to_spans(chain)

    def fetch(self, count: int) -> list[int]:
        """Return a chain of 1 to `count` blocks."""
        if count == self.kind.move and self.transfer.chains:
            self._heap.visited += 1
            return self.transfer.chains.pop()
        if not self._nonempty:
            self._add_span()
        chain: list[int] = []
        while len(chain) < count and self._nonempty:
            chain = self._take_from_first(count - len(chain)) + chain
        return chain

    def release_list_to_spans(self, chain: list[int]) -> None:
        """Free each block of a chain in its span; free a span whose blocks are all free."""
        for block in chain:
            span = self._heap.span_of(block)
            self._heap.blocks.mark(block, State.FREE)
            span.used -= 1
            span.free.append(block)
            self._nonempty[span] = None
            if not span.used:
                self._drop_span(span)

    def _make_cache_space(self) -> bool:
        """Return whether a chain slot is free; if none is, first take one from another class."""
        transfer = self.transfer
        if transfer.is_full and transfer.size < transfer.max_size:
            took = self._heap.evict_size_class(self, forced=False) or self._heap.evict_size_class(
                self, forced=True
            )
            transfer.size += took
        return not transfer.is_full

    def _take_from_first(self, count: int) -> list[int]:
        self._heap.visited += 1
        span = next(reversed(self._nonempty))
        chain = span.free[: -count - 1 : -1]
        del span.free[-count:]
        span.used += len(chain)
        if not span.free:
            del self._nonempty[span]
        for block in chain:
            self._heap.blocks.mark(block, State.CACHED)
        return chain

    def _add_span(self) -> None:
        """Cut a new span into blocks; the lowest block is taken first."""
        heap, kind = self._heap, self.kind
        span = Span(heap.allocate_span(kind.pages), self.number)
        tail = kind.pages * heap.page % kind.size
        if tail:
            end = heap.blocks.cut(span.address, kind.pages * heap.page - tail)
            heap.blocks.mark(end, State.WASTE)
        heap.blocks.mark(span.address, State.FREE)
        for place in range(heap.block_size(span.address) // kind.size - 1, 0, -1):
            span.free.append(heap.blocks.cut(span.address, place * kind.size))
        span.free.append(span.address)
        for block in span.free:
            heap.touch(block, heap.word)
        self.span_count += 1
        self._nonempty[span] = None
        heap.enter_span(span, kind.pages)

    def _drop_span(self, span: Span) -> None:
        del self._nonempty[span]
        self.span_count -= 1
        blocks, size = self._heap.blocks, self.kind.pages * self._heap.page
        while blocks.size[span.address] < size:
            blocks.join(span.address)
        self._heap.leave_span(span, self.kind.pages)
        self._heap.free_span(span.address)
