"""A trace through a device allocator: to the first request that cannot be served, or on."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from simalloc.heap.device_figures import DeviceFigures, DeviceReplay, device_figures
from simalloc.heap.reference.device.bfc import BfcAllocator, OrtArenaAllocator
from simalloc.heap.reference.device.no_cache import NoCacheAllocator
from simalloc.heap.reference.device.pytorch import PyTorchAllocator
from simalloc.heap.reference.device.rmm import RmmPoolAllocator
from simalloc.heap.run import Counters, Realloc
from simalloc.heap.states import event_of_most, mean, run_of_states
from simalloc.policy import Policy
from simalloc.policy.device import Bfc, NoCache, OrtArena, PyTorch, RmmPool
from simalloc.trace.events import Op

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simalloc.heap.reference.device.allocator import Allocator
    from simalloc.heap.reference.device.blocks import Block
    from simalloc.policy.device import Device
    from simalloc.trace.trace import Trace

_ALLOCATORS: Final[dict[type[Device], Callable[[Any], Allocator]]] = {
    PyTorch: PyTorchAllocator,
    Bfc: BfcAllocator,
    OrtArena: OrtArenaAllocator,
    RmmPool: RmmPoolAllocator,
    NoCache: lambda description: NoCacheAllocator(description.available),
}


def replay_device(
    trace: Trace,
    description: Device,
    *,
    realloc: Realloc = Realloc.FREE_FIRST,
    check: bool = False,
    goes_on: bool = False,
) -> DeviceReplay:
    """Carry out the events of `trace`; with `check` assert the invariants after each.

    A request that cannot be served is the last, unless it `goes_on`: then the request is left out
    with all that is told of its object.
    """
    allocator = _ALLOCATORS[type(description)](description)
    statistics = allocator.statistics
    objects = _Objects(allocator, realloc)
    states = []
    first_oom = 0
    for event, asked in enumerate(_events(trace)):
        allocator.device.event = event
        served, address = objects.carry_out(*asked)
        statistics.note_peak()
        bytes_now = objects.live, statistics.reserved.now, statistics.allocated.now
        states.append((address, *bytes_now, len(allocator.free_blocks())))
        if check:
            allocator.check()
        if not served:
            first_oom = first_oom or event + 1
            if not goes_on:
                break
    addresses, live, heap, allocated, free_blocks = np.array(states, np.int64).reshape(-1, 5).T
    figures = _figures(description, allocator, first_oom)
    at_peak = event_of_most(heap)
    counters = Counters(
        growths=figures.device_alloc,
        splits=statistics.splits,
        coalescings=statistics.coalescings,
        free_blocks_mean=mean(free_blocks),
        free_blocks_peak=int(free_blocks.max(initial=0)),
        visited_mean=nan,  # trees are searched: no list is walked
        visited_worst=0,
        visited_at_free_mean=0.0,
        visited_at_free_worst=0,
        coalescing_frees=objects.coalescing_frees,
        internal_bytes_at_peak_heap=float(int((allocated - live)[at_peak]) if states else 0),
        external_bytes_at_peak_heap=float(int((heap - allocated)[at_peak]) if states else 0),
    )
    run = run_of_states(
        trace,
        Policy(description.family, description),
        scale=1,
        realloc=realloc,
        live=live,
        scaled_heap=heap,
        counters=counters,
        addresses=addresses,
        seconds=0.0,
        device=figures,
    )
    calls = np.array(allocator.device.calls, np.int64).reshape(-1, 3)
    return DeviceReplay(addresses, live, heap, allocated, free_blocks, run, calls)


def _events(trace: Trace) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield what each event asks for, as `_Objects.carry_out` takes it."""
    none = np.zeros(len(trace), np.uint32)
    streams = none if trace.stream is None else trace.stream
    pools = none if trace.pool is None else trace.pool
    columns = trace.op, trace.object, trace.size, streams, pools
    return zip(*(column.tolist() for column in columns), strict=True)


class _Objects:
    """The live objects of a replay, each with its block."""

    def __init__(self, allocator: Allocator, realloc: Realloc) -> None:
        self.live = self.coalescing_frees = 0
        self._allocator = allocator
        self._realloc = realloc
        self._blocks: dict[int, tuple[Block, int]] = {}

    def carry_out(
        self, op: int, number: int, size: int, stream: int, pool: int
    ) -> tuple[bool, int]:
        """Do one event; return whether it was served, and the object's address."""
        if op == Op.EMPTY:
            self._allocator.empty()
        if op in {Op.EMPTY, Op.THREAD_END}:
            return True, -1
        if op not in {Op.MALLOC, Op.CALLOC} and number not in self._blocks:  # it was never served
            return True, -1
        if op == Op.USE:
            block = self._blocks[number][0]
            self._allocator.use(block, stream)
            return True, block.address
        if op == Op.FREE:
            self._free(number)
            return True, -1
        if op == Op.REALLOC and self._realloc is Realloc.FREE_FIRST:
            self._free(number)
        allocated = self._allocator.malloc(max(size, 1), stream, pool)
        if allocated is None:
            return False, -1
        if op == Op.REALLOC and number in self._blocks:
            self._free(number)
        self._blocks[number] = allocated, size
        self.live += size
        return True, allocated.address

    def _free(self, number: int) -> None:
        block, size = self._blocks.pop(number)
        merged = self._allocator.statistics.coalescings
        self.live -= size
        self._allocator.free(block)
        self.coalescing_frees += self._allocator.statistics.coalescings > merged


def _figures(description: Device, allocator: Allocator, first_oom: int) -> DeviceFigures:
    reported = allocator.statistics.reported() | {
        "device_alloc": allocator.device.allocations,
        "device_free": allocator.device.frees,
        "largest_free": max((block.size for block in allocator.free_blocks()), default=0),
    }
    return device_figures(description, reported, first_oom, allocator.statistics.ooms)
