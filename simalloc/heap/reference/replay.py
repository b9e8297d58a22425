"""Replay of a trace through a heap, with all measurements after each event."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.heap.reference.families import heap_for
from simalloc.heap.reference.families.ptmalloc.start import PtmallocStarted
from simalloc.heap.reference.heap import Heap, Request
from simalloc.heap.reference.layers.aligning import allocate_aligned
from simalloc.heap.reference.layers.front import Front
from simalloc.heap.reference.parts.overhead import gross_size
from simalloc.heap.reference.space import Exhausted, Refused, Residence, State
from simalloc.heap.run import Refusals
from simalloc.heap.run_options import Realloc
from simalloc.heap.running.replayed_columns import sparse_numbers
from simalloc.heap.running.run_from_states import Replay
from simalloc.heap.running.setting import Setting
from simalloc.policy import Family, Policy
from simalloc.policy.parts import Aligning
from simalloc.trace.events import Op
from simalloc.trace.trace import Trace

NOWHERE: Final = -1
"""Recorded address of an event that leaves no object."""
REFUSED: Final = -2
"""Recorded address of a request that was refused."""

_OF_LIVE: Final = frozenset({Op.FREE, Op.REALLOC, Op.USE})


def replay(
    trace: Trace,
    description: Family,
    *,
    scale: int = 16,
    realloc: Realloc = Realloc.FREE_FIRST,
    check: bool = False,
) -> Replay:
    """Replay `trace` under a description, as `replay_setting` does."""
    setting = Setting.of(
        trace, Policy(description.family, description), scale=scale, realloc=realloc
    )
    return replay_setting(setting, check=check)


def replay_setting(setting: Setting, *, check: bool = False) -> Replay:
    """Replay every event of a trace under the policy of a setting (docs/policies.md).

    With `check` the invariants of the heap are asserted after each event. Raises `SimallocError`,
    naming the event, if the heap would exceed 2**62 scaled bytes.
    """
    start = time.perf_counter()
    objects = Objects(setting)
    states = np.empty((7 + len(setting.options.occupied), len(setting.source)), np.int64)
    done = 0
    for address in _addresses(objects, setting):
        states[:, done] = (address, *objects.state())
        done += 1
        if check:
            objects.check()
    refusals = objects.refusals(setting)
    if objects.is_over:
        objects = _replayed_to(setting, done)
        if refusals.first_refused_event > done:
            largest = objects.heap.largest_free_block / setting.scale
            refusals = replace(refusals, largest_free_bytes=largest)
    addresses, live, heap, allocated, free_blocks, resident, largest, *occupied = states[:, :done]
    return Replay(
        addresses,
        live,
        heap,
        allocated,
        free_blocks,
        resident if setting.options.resident else None,
        largest if setting.options.largest_free else None,
        dict(zip(setting.options.occupied, occupied, strict=True)),
        visited=np.array(objects.visited, np.int64),
        growths=objects.heap.growths,
        splits=objects.heap.splits,
        coalescings=objects.heap.coalescings,
        deallocations=objects.heap.deallocations,
        visited_at_free=objects.heap.visited_at_free,
        visited_at_free_worst=objects.heap.visited_at_free_worst,
        coalescing_frees=objects.heap.coalescing_frees,
        seconds=time.perf_counter() - start,
        reported=objects.heap.figures(),
        refusals=refusals,
        mappings=np.array(objects.heap.mappings, np.int64).reshape(-1, 3),
    )


def _replayed_to(setting: Setting, events: int) -> Objects:
    """Return the objects and the heap before the event that ended the run (`Objects.end`)."""
    objects = Objects(setting)
    for _ in islice(_addresses(objects, setting), events):
        pass
    return objects


def watched(
    setting: Setting,
) -> Iterator[tuple[int, int, int, int, int, int, tuple[int, int, int], dict[str, int]]]:
    """Yield after each event the fields of a `Sight`, with the allocator's statistics by name."""
    objects = Objects(setting)
    heap = objects.heap
    for address in _addresses(objects, setting):
        live, mapped, _, free_blocks, resident, largest, *_ = objects.state()
        location = (0, 0, -1) if address < 0 else heap.locate(address)
        yield address, mapped, resident, live, largest, free_blocks, location, heap.figures()


def in_steps(setting: Setting) -> Iterator[tuple[Heap, dict[int, tuple[int, int]], int | None]]:
    """Yield after each event the heap, the live objects, and the number of visited blocks.

    The live objects map each number to an address and a requested size. The number of visited
    blocks is None if the event did not search. The heap and the objects change with the next event.
    """
    objects = Objects(setting)
    before = 0
    for _ in _addresses(objects, setting):
        searches = len(objects.visited)
        yield objects.heap, objects.where, objects.visited[-1] if searches > before else None
        before = searches


def _addresses(objects: Objects, setting: Setting) -> Iterator[int]:
    """Replay the events until the program ends, and yield the address after each event."""
    trace = objects.heap.trace = setting.source.in_memory()
    columns = trace.op.tolist(), trace.object.tolist()
    threads = sparse_numbers(trace) if "thread" in setting.columns else None
    latest = 0
    for event, (op, number) in enumerate(zip(*columns, strict=True)):
        objects.heap.event = event
        request = request_of(trace, event, setting, threads, latest)
        latest = request.time
        try:
            address = objects.carry_out(op, number, request)
        except Exhausted:
            objects.end()
            return
        except SimallocError as error:
            raise type(error)(f"event {event} (of {request.size} bytes): {error}") from error
        objects.heap.after_event()
        yield address
        if objects.refused and not setting.options.goes_on:
            return


def request_of(
    trace: Trace, event: int, setting: Setting, threads: NDArray[np.int64] | None, latest: int
) -> Request:
    """Return the request of an event, with the columns that the policy uses.

    If `threads` is given, a thread's number is its index there. A time before `latest` becomes
    `latest`.
    """
    values = {
        name: int(column[event])
        for name, column in trace.columns.items()
        if name in setting.columns
    }
    if threads is not None and "thread" in values:
        values["thread"] = int(np.searchsorted(threads, values["thread"]))
    asked = values.get("alignment", 0)
    serves = asked > 1 and trace.op[event] == Op.MALLOC
    return Request(
        size=int(trace.size[event]),
        alignment=asked * setting.scale if serves else 0,
        thread=values.get("thread", 0),
        time=max(values.get("time", 0), latest),
        site=values.get("site", 0),
        stream=values.get("stream", 0),
        pool=values.get("pool", 0),
        unwritten=values.get("unwritten", 0),
        is_zeroed=bool(trace.op[event] == Op.CALLOC),
    )


class Objects:
    """Live objects of a replay, each with its address and its requested size."""

    def __init__(self, setting: Setting) -> None:
        description = setting.policy.description
        heap = heap_for(description)
        heap.scale = setting.scale
        heap.blocks.limit = description.capacity * setting.scale or None
        heap.blocks.page = setting.options.page * setting.scale
        if setting.options.resident:
            heap.blocks.residence = Residence(heap.blocks.page)
        heap.threads, heap.other_threads = setting.threads, setting.other_threads
        heap.program_writes = setting.options.writes
        if setting.start is not None:
            assert isinstance(heap, PtmallocStarted), "only ptmalloc can begin with a real heap"
            heap.begin_with(setting.start, setting.started_tunables, setting.started_threads)
        self.heap = heap
        self._setting = setting
        self._description = description
        self._front = Front(heap, description)
        self._overhead = description.applied_overhead
        self._aligning = description.aligning or Aligning()
        self.visited: list[int] = []
        self.where: dict[int, tuple[int, int]] = {}
        self._live = 0
        self.is_over = False
        self._latest_refused = -1
        self.refused = self.first_refused = self.largest_free_then = 0

    def carry_out(self, op: int, number: int, request: Request) -> int:
        """Replay one event; return the object's address after it, `NOWHERE` or `REFUSED`."""
        self.heap.request = request
        if self.refused and op in _OF_LIVE and number not in self.where:
            return NOWHERE
        if op == Op.USE:
            self.heap.use(self.where[number][0])
            return self.where[number][0]
        if op in {Op.EMPTY, Op.THREAD_END}:
            self.heap.give_back() if op == Op.EMPTY else self.heap.end_thread()
            return NOWHERE
        if op == Op.FREE:
            self._front.free(self._remove(number))
            return NOWHERE
        before = self.where.get(number)
        try:
            address = self._reallocate(number) if op == Op.REALLOC else self._malloc()
        except Refused:
            self._refuse(number, before)
            return REFUSED
        self._put(number, address)
        return address

    def _put(self, number: int, address: int) -> None:
        """Record the block at `address` as the object's block."""
        self.where[number] = address, self.heap.request.size
        self._live += self.heap.request.size
        self._write(address)

    def end(self) -> None:
        """End the run before the current event: the allocator's own memory was refused."""
        self.is_over = True
        if self._latest_refused != self.heap.event:
            self._count_refused()

    def refusals(self, setting: Setting) -> Refusals:
        """Return the refused requests so far."""
        return Refusals(
            self.refused,
            self.first_refused,
            self.largest_free_then / setting.scale,
            stopped=self.is_over or (self.refused > 0 and not setting.options.goes_on),
        )

    def _count_refused(self) -> None:
        self.refused += 1
        self._latest_refused = self.heap.event
        if not self.first_refused:
            self.first_refused = self.heap.event + 1
            self.largest_free_then = self.heap.largest_free_block

    def _refuse(self, number: int, before: tuple[int, int] | None) -> None:
        """Count a refused request. A refused realloc leaves the object as it was.

        If the object was freed first, it is allocated again with its old size, which may move it.
        """
        self._count_refused()
        if before is None:
            return
        if self._setting.realloc is not Realloc.FREE_FIRST:
            self.where[number] = before
            self._live += before[1]
            return
        self.heap.request = self.heap.request._replace(size=before[1])
        with suppress(Refused):
            self._put(number, self._malloc())

    def state(self) -> tuple[int, ...]:
        """Return the measurements after an event, in a fixed order.

        The order is: live, mapped and allocated bytes, number of free blocks, resident bytes, size
        of the largest free block (0 unless requested), then the bytes of occupied pages for each
        page size.
        """
        heap = self.heap
        largest = heap.largest_free_block if self._setting.options.largest_free else 0
        occupied = [self._occupied(size) for size in self._setting.options.occupied]
        counts = self._live, heap.blocks.mapped, heap.allocated, heap.free_block_count
        return *counts, heap.resident, largest, *occupied

    def _occupied(self, size: int) -> int:
        """Return the scaled bytes of the pages of `size` program bytes that contain a live byte."""
        page, scale = size * self._setting.scale, self._setting.scale
        payload = self._description.payload
        pages: list[tuple[int, int]] = []
        for address, taken in sorted(self.where.values()):
            first = (address + payload) // page
            end = -(-(address + payload + taken * scale) // page)
            if taken:
                pages.append((max(first, pages[-1][1]) if pages else first, end))
        return page * sum(end - first for first, end in pages)

    def check(self) -> None:
        """Assert that the heap is consistent and that each live object's block is large enough."""
        self._front.check()
        for address, size in self.where.values():
            assert self.heap.blocks.state[address] is State.ALLOCATED
            assert self.heap.block_size(address) >= self._gross(size)
        addresses = {address for address, _ in self.where.values()}
        assert len(addresses) == len(self.where), "no two objects share a block"
        assert self.heap.allocated == sum(map(self.heap.block_size, addresses))
        assert self._live == sum(size for _, size in self.where.values())

    def _gross(self, size: int) -> int:
        return gross_size(max(size, 1) * self._setting.scale, self._overhead)

    def _remove(self, number: int) -> int:
        address, size = self.where.pop(number)
        self._live -= size
        return address

    def _write(self, address: int) -> None:
        """Record the writes to a block: its headers, and the bytes that the program writes."""
        request, scale, heap = self.heap.request, self._setting.scale, self.heap
        by_allocator = not self._description.writes_itself
        if by_allocator:
            footer = self._overhead.footer
            heap.touch(address, self._overhead.header)
            heap.touch(address + heap.block_size(address) - footer, footer)
        if self._description.writes_objects:
            return
        size = request.size
        if not (request.is_zeroed and by_allocator):
            size -= min(request.unwritten, size)
        if self._setting.options.writes or (request.is_zeroed and by_allocator):
            heap.touch(address + self._description.payload, size * scale)

    def _malloc(self) -> int:
        gross, alignment = self._gross(self.heap.request.size), self.heap.request.alignment
        if not alignment or "alignment" in self._description.columns:
            return self._counted(self._front.malloc, gross)
        if self._aligning.guaranteed % alignment == 0:
            address = self._counted(self._front.malloc, gross)
        else:
            address = self._counted(self._allocate_aligned, gross, alignment)
        assert address % alignment == 0, "the block has the requested alignment"
        return address

    def _allocate_aligned(self, size: int, alignment: int) -> int:
        return allocate_aligned(self.heap, self._aligning, size, alignment)

    def _counted(self, method: Callable[..., int], *arguments: int) -> int:
        """Call a method that may search; record the number of visited blocks if it searched."""
        self.heap.visited = -1
        address = method(*arguments)
        if self.heap.visited >= 0:
            self.visited.append(self.heap.visited)
        return address

    def _reallocate(self, number: int) -> int:
        """Follow the rule for realloc events (docs/policies.md, The heap and the replay)."""
        old = self._remove(number)
        if self._setting.realloc is Realloc.FREE_FIRST:
            self._front.free(old)
            return self._malloc()
        if self._setting.realloc is Realloc.IN_PLACE:
            gross = self._gross(self.heap.request.size)
            return self._counted(self.heap.reallocate, old, gross)
        new = self._malloc()
        self._front.free(old)
        return new
