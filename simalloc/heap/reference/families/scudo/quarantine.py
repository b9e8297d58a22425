"""Scudo's quarantine, where freed blocks wait (simalloc/policy/families/scudo.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from simalloc.heap.reference.families.scudo.chunk import Chunk
from simalloc.heap.reference.families.scudo.random import Generator

BATCH_BYTES: Final = 8176
"""Bytes of a batch itself, which count towards the weight of the quarantine."""

_BATCH_LENGTH = 1019
_BATCH_HEAD = 24
_ENTRY = 8


@dataclass
class Batch:
    """Freed blocks, in the order of their frees; `home` is the block that records them."""

    home: int
    chunks: list[Chunk] = field(default_factory=list)
    weight: int = BATCH_BYTES

    @property
    def is_full(self) -> bool:
        """True if another block does not fit."""
        return len(self.chunks) == _BATCH_LENGTH

    @property
    def used(self) -> int:
        """Bytes of the batch that have been written."""
        return _BATCH_HEAD + _ENTRY * len(self.chunks)

    def add(self, chunk: Chunk) -> None:
        """Add a freed block."""
        self.chunks.append(chunk)
        self.weight += chunk.size

    def shuffled(self) -> list[Chunk]:
        """Return the blocks in the order in which they leave."""
        Generator(self.home >> 4 & 0xFFFFFFFF).shuffle(self.chunks)
        return self.chunks


@dataclass
class Waiting:
    """A list of batches, the oldest first: of one local cache, or the global list."""

    batches: list[Batch] = field(default_factory=list)

    @property
    def weight(self) -> int:
        """Bytes of the batches and of the blocks in them."""
        return sum(batch.weight for batch in self.batches)

    def append(self, other: Waiting) -> None:
        """Move all batches of another list to this list."""
        self.batches += other.batches
        other.batches = []

    def recycle(self, most: int) -> Iterator[Batch]:
        """Yield the batches that leave until at most `most` bytes stay."""
        overhead = BATCH_BYTES * len(self.batches)
        if overhead < self.weight < 2 * overhead:
            yield from self._merge()
        while self.weight > most:
            yield self.batches.pop(0)

    def _merge(self) -> list[Batch]:
        """Merge each batch into the previous batch if it fits; return the emptied batches."""
        kept, emptied = self.batches[:1], []
        for batch in self.batches[1:]:
            last = kept[-1]
            if len(last.chunks) + len(batch.chunks) > _BATCH_LENGTH:
                kept.append(batch)
                continue
            last.chunks += batch.chunks
            last.weight += batch.weight - BATCH_BYTES
            emptied.append(Batch(batch.home))
        self.batches = kept
        return emptied
