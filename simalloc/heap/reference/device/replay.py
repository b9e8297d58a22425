"""A trace through a device allocator: to the first request that cannot be served, or on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from simalloc.heap.device_figures import DeviceFigures, DeviceReplay, own_figures
from simalloc.heap.reference.device.bfc import BfcAllocator, OrtArenaAllocator
from simalloc.heap.reference.device.no_cache import NoCacheAllocator
from simalloc.heap.reference.device.pytorch import PyTorchAllocator
from simalloc.heap.reference.device.rmm import RmmPoolAllocator
from simalloc.heap.run import Realloc
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
    first_oom = coalescing_frees = 0
    for event, asked in enumerate(_events(trace)):
        merged = statistics.coalescings
        allocator.device.event = event
        served, address = objects.carry_out(*asked)
        coalescing_frees += asked[0] == Op.FREE and statistics.coalescings > merged
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
    return DeviceReplay(
        addresses,
        live,
        heap,
        allocated,
        free_blocks,
        _figures(description, allocator, first_oom),
        calls=np.array(allocator.device.calls, np.int64).reshape(-1, 3),
        splits=statistics.splits,
        coalescings=statistics.coalescings,
        coalescing_frees=coalescing_frees,
    )


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
        self.live = 0
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
        self.live -= size
        self._allocator.free(block)


def _figures(description: Device, allocator: Allocator, first_oom: int) -> DeviceFigures:
    statistics, device = allocator.statistics, allocator.device
    pooled = (
        ("requested_bytes", statistics.requested),
        ("allocated_bytes", statistics.allocated),
        ("active_bytes", statistics.active),
        ("reserved_bytes", statistics.reserved),
        ("segment", statistics.segment),
        ("inactive_split_bytes", statistics.inactive_split),
    )
    oversize: dict[str, tuple[int, ...]] = {
        name: (gauge.now, gauge.peak)
        for name, gauge in (
            ("oversize_allocations", statistics.oversize_allocations),
            ("oversize_segments", statistics.oversize_segments),
        )
    }
    return DeviceFigures(
        first_oom_event=first_oom,
        peak_requested_bytes=statistics.requested.peak,
        peak_allocated_bytes=statistics.allocated.peak,
        peak_active_bytes=statistics.active.peak,
        peak_reserved_bytes=statistics.reserved.peak,
        final_reserved_bytes=statistics.reserved.now,
        peak_inactive_split_bytes=statistics.inactive_split.peak,
        segments=statistics.segments,
        device_alloc=device.allocations,
        device_free=device.frees,
        retries=statistics.retries,
        ooms=statistics.ooms,
        requested_bytes_at_peak=statistics.at_peak[1],
        active_bytes_at_peak=statistics.at_peak[2],
        inactive_split_bytes_at_peak=statistics.at_peak[3],
        memory_stats=own_figures(
            description,
            oversize | {name: gauge.six for name, gauge in pooled},
            largest=statistics.largest,
            largest_free=max((block.size for block in allocator.free_blocks()), default=0),
        ),
    )
