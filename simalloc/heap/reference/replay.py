"""A trace through a heap, event by event, with all that is measured after each."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap.reference.families import heap_for
from simalloc.heap.reference.parts.aligning import allocate_aligned
from simalloc.heap.reference.parts.front import Front
from simalloc.heap.reference.parts.overhead import gross_size
from simalloc.heap.reference.space import State
from simalloc.heap.run import Realloc
from simalloc.heap.states import Replay
from simalloc.policy.parts import Aligning
from simalloc.trace.events import Op

if TYPE_CHECKING:
    from collections.abc import Callable

    from simalloc.policy import Family
    from simalloc.trace.trace import Trace


def replay(
    trace: Trace,
    description: Family,
    *,
    scale: int = 16,
    realloc: Realloc = Realloc.FREE_FIRST,
    check: bool = False,
) -> Replay:
    """Carry out every event of `trace` under the policy described (docs/policies.md).

    With `check` the invariants of the heap are asserted after each event. Raises `SimallocError`,
    naming the event, if the heap would exceed 2**62 scaled bytes.
    """
    start = time.perf_counter()
    objects = Objects(description, scale, realloc)
    objects.heap.trace = trace
    states = np.empty((5, len(trace)), np.int64)
    alignment = trace.alignment if description.memalign else None
    alignments = [0] * len(trace) if alignment is None else alignment.tolist()
    columns = trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), alignments
    for event, (op, number, size, asked) in enumerate(zip(*columns, strict=True)):
        objects.heap.event = event
        try:
            address = objects.carry_out(op, number, size, asked)
        except SimallocError as error:
            raise type(error)(f"event {event} (of {size} bytes): {error}") from error
        states[:, event] = (address, *objects.state())
        if check:
            objects.check()
    addresses, live, heap, allocated, free_blocks = states
    return Replay(
        addresses,
        live,
        heap,
        allocated,
        free_blocks,
        visited=np.array(objects.visited, np.int64),
        growths=objects.heap.growths,
        splits=objects.heap.splits,
        coalescings=objects.heap.coalescings,
        deallocations=objects.heap.deallocations,
        visited_at_free=objects.heap.visited_at_free,
        visited_at_free_worst=objects.heap.visited_at_free_worst,
        coalescing_frees=objects.heap.coalescing_frees,
        seconds=time.perf_counter() - start,
    )


class Objects:
    """The live objects of a replay, each with its address and the bytes that were asked for."""

    def __init__(self, description: Family, scale: int, realloc: Realloc) -> None:
        heap = heap_for(description)
        self.heap = heap
        self._front = Front(heap, description)
        self._overhead = description.applied_overhead
        self._aligning = description.aligning or Aligning()
        self.visited: list[int] = []
        self._scale = scale
        self._realloc = realloc
        self._where: dict[int, tuple[int, int]] = {}
        self._live = 0

    def carry_out(self, op: int, number: int, size: int, asked: int = 0) -> int:
        """Do one event; return the object's address after it, -1 if there is no object any more.

        `asked` is the alignment that is to be served, in bytes of the program; 0: none.
        """
        if op in {Op.USE, Op.EMPTY}:
            return -1 if op == Op.EMPTY else self._where[number][0]
        if op == Op.FREE:
            self._front.free(self._remove(number))
            return -1
        is_new = op == Op.MALLOC
        address = self._malloc(size, asked) if is_new else self._reallocate(number, size)
        self._where[number] = address, size
        self._live += size
        return address

    def state(self) -> tuple[int, int, int, int]:
        """Return live bytes, mapped bytes, allocated bytes, and number of free blocks."""
        heap = self.heap
        return self._live, heap.blocks.mapped, heap.allocated, heap.free_block_count

    def check(self) -> None:
        """Assert that the heap is sound and that each live object has a block that holds it."""
        self._front.check()
        for address, size in self._where.values():
            assert self.heap.blocks.state[address] is State.ALLOCATED
            assert self.heap.block_size(address) >= self._gross(size)
        addresses = {address for address, _ in self._where.values()}
        assert len(addresses) == len(self._where), "no two objects share a block"
        assert self.heap.allocated == sum(map(self.heap.block_size, addresses))
        assert self._live == sum(size for _, size in self._where.values())

    def _gross(self, size: int) -> int:
        return gross_size(max(size, 1) * self._scale, self._overhead)

    def _remove(self, number: int) -> int:
        address, size = self._where.pop(number)
        self._live -= size
        return address

    def _malloc(self, size: int, asked: int = 0) -> int:
        gross, alignment = self._gross(size), asked * self._scale
        if asked <= 1:
            return self._counted(self._front.malloc, gross)
        if self._aligning.anyway % alignment == 0:
            address = self._counted(self._front.malloc, gross)
        else:
            address = self._counted(self._allocate_aligned, gross, alignment)
        assert address % alignment == 0, "the block lies where it was asked for"
        return address

    def _allocate_aligned(self, size: int, alignment: int) -> int:
        return allocate_aligned(self.heap, self._aligning, size, alignment)

    def _counted(self, method: Callable[..., int], *arguments: int) -> int:
        """Call what may search; keep how many blocks it has visited, if it has searched."""
        self.heap.visited = -1
        address = method(*arguments)
        if self.heap.visited >= 0:
            self.visited.append(self.heap.visited)
        return address

    def _reallocate(self, number: int, size: int) -> int:
        """Follow the rule for realloc events (docs/policies.md, The heap and the replay)."""
        old = self._remove(number)
        if self._realloc is Realloc.FREE_FIRST:
            self._front.free(old)
            return self._malloc(size)
        if self._realloc is Realloc.IN_PLACE:
            return self._counted(self.heap.reallocate, old, self._gross(size))
        new = self._malloc(size)
        self._front.free(old)
        return new
