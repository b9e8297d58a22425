"""A trace through a heap, event by event, with all that is measured after each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap.reference.families import heap_for
from simalloc.heap.reference.parts.front import Front
from simalloc.heap.reference.parts.overhead import gross_size
from simalloc.heap.reference.space import State
from simalloc.heap.run import Realloc
from simalloc.trace.events import Op

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from simalloc.policy import Family
    from simalloc.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class Replay:
    """The states after each event, and what the heap counted on the way.

    Every array has one entry an event (int64) but `visited`, which has one a malloc of the policy:
    a realloc that is served in place makes none. `live` is in bytes of the program; `addresses` (-1
    for a free), `heap` and `allocated` (gross bytes in allocated blocks) are in scaled bytes.
    """

    addresses: NDArray[np.int64]
    live: NDArray[np.int64]
    heap: NDArray[np.int64]
    allocated: NDArray[np.int64]
    free_blocks: NDArray[np.int64]
    visited: NDArray[np.int64]
    growths: int
    splits: int
    coalescings: int
    deallocations: int
    visited_at_free: int
    visited_at_free_worst: int
    coalescing_frees: int
    seconds: float


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
    events = zip(trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), strict=True)
    for event, (op, number, size) in enumerate(events):
        objects.heap.event = event
        try:
            address = objects.carry_out(op, number, size)
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
        coalescing_frees=objects.coalescing_frees,
        seconds=time.perf_counter() - start,
    )


class Objects:
    """The live objects of a replay, each with its address and the bytes that were asked for."""

    def __init__(self, description: Family, scale: int, realloc: Realloc) -> None:
        heap = heap_for(description)
        self.heap = heap
        self._front = Front(heap, description)
        self._overhead = description.applied_overhead
        self.visited: list[int] = []
        self.coalescing_frees = 0
        self._scale = scale
        self._realloc = realloc
        self._where: dict[int, tuple[int, int]] = {}
        self._live = 0

    def carry_out(self, op: int, number: int, size: int) -> int:
        """Do one event; return the object's address after it, -1 for a free."""
        if op == Op.FREE:
            coalescings = self.heap.coalescings
            self._front.free(self._remove(number))
            self.coalescing_frees += self.heap.coalescings != coalescings
            return -1
        address = self._malloc(size) if op == Op.MALLOC else self._reallocate(number, size)
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

    def _malloc(self, size: int) -> int:
        return self._counted(self._front.malloc, self._gross(size))

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
