"""Scudo's local caches (simalloc/policy/families/scudo.md)."""

from __future__ import annotations

from simalloc.heap.reference.families.scudo.configuration import BATCHES, Configuration
from simalloc.heap.reference.families.scudo.primary import RecordRegion, Region
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.space.refused import Exhausted


class LocalCache:
    """A stack of free blocks of each class, for one or several threads."""

    def __init__(
        self,
        heap: Heap,
        configuration: Configuration,
        regions: dict[int, Region],
        records: RecordRegion | None,
    ) -> None:
        self.stacks: list[list[int]] = [[] for _ in configuration.sizes]
        self._heap = heap
        self._refills = [configuration.refill(number) for number in range(len(self.stacks))]
        self._regions = regions
        self._records = records

    def allocate(self, number: int) -> int | None:
        """Return the top block of a class, still cached, or None if memory is exhausted."""
        stack = self.stacks[number]
        if not stack:
            stack += self._regions[number].pop(self, self._refills[number])
        return stack.pop() if stack else None

    def free(self, number: int, block: int) -> bool:
        """Push a cached block; return whether the oldest blocks were moved to the region."""
        is_full = len(self.stacks[number]) == 2 * self._refills[number]
        if is_full:
            self._drain(number)
        self.stacks[number].append(block)
        return is_full

    def blocks(self) -> list[int]:
        """Return all blocks except those in class 0."""
        return [block for stack in self.stacks[1:] for block in stack]

    def empty(self) -> None:
        """Return all blocks to the regions, class 0 last."""
        for number in (*range(1, len(self.stacks)), BATCHES):
            while self.stacks[number]:
                self._drain(number)

    def new_record(self) -> int:
        """Return a block of class 0 for a new record."""
        if self._records is None:
            return 0
        stack = self.stacks[BATCHES]
        if not stack:
            stack += self._records.pop()
        if not stack:
            raise Exhausted
        record = stack.pop()
        self._heap.touch(record, 1)
        return record

    def drop_record(self, record: int) -> None:
        """Free a block of class 0."""
        if self._records is not None:
            self.free(BATCHES, record)

    def _drain(self, number: int) -> None:
        stack = self.stacks[number]
        oldest = stack[: self._refills[number]]
        del stack[: self._refills[number]]
        if number != BATCHES:
            self._regions[number].push(self, oldest)
        elif self._records is not None:
            self._records.push(oldest)
