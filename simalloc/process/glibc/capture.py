"""A capture of all glibc heaps in a process, where each arena is from one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from simalloc.process.glibc.mapped import MappedBlocks, read_mapped
from simalloc.process.glibc.reading import (
    ArenaHeap,
    Heap,
    Reading,
    copy_stopped,
    give_up,
    heap_of,
    mark_cached_by_others,
    start_reading,
)
from simalloc.process.glibc.state import Libc, State, find_libcs
from simalloc.process.live import LiveProcess
from simalloc.process.mappings import Mapping
from simalloc.process.target import Target, Thread

_AT_ONCE: Final = 256 << 20
"""Bytes of arenas that are copied under one stop. A larger arena has a separate stop."""
_TRIES: Final = 4
"""Number of stops for an arena before it is reported as damaged."""
_SLOT_TRIES: Final = 10


@dataclass(frozen=True, eq=False)
class Capture:
    """All heaps of glibc in a process."""

    heaps: Sequence[Heap]
    mapped: MappedBlocks
    mappings: Sequence[Mapping]
    threads: Sequence[Thread]
    unused: Sequence[Libc]


def capture(target: Target) -> Capture:
    """Read all heaps of glibc in a process.

    The heaps are read while the process runs. Arenas that changed meanwhile are read again while
    all threads are stopped and no arena is locked. Raises `ProcessError` if the memory cannot be
    read, or is so damaged that the search would not end.
    """
    with target.limited_time():
        return _capture(target)


def _capture(target: Target) -> Capture:
    mappings = target.mappings()
    libcs = find_libcs(target, mappings)
    used = [libc for libc in libcs if not libc.unused]
    used.sort(key=lambda libc: -libc.arena)  # the program's own malloc was mapped first
    found = [_read_heap(target, libc, mappings, used) for libc in used]
    heaps = mark_cached_by_others([heap for heap in found if heap is not None])
    counting = [(heap.libc, heap.parameters) for heap in heaps]
    mapped = read_mapped(target, counting, _taken(heaps))
    threads = target.threads()
    return Capture(heaps, mapped, target.mappings(), threads, [x for x in libcs if x.unused])


def _read_heap(
    target: Target, libc: Libc, mappings: Sequence[Mapping], used: Sequence[Libc]
) -> Heap | None:
    is_live = isinstance(target, LiveProcess)
    reading = start_reading(target, libc, used, tries=_SLOT_TRIES if is_live else 1)
    if reading is None:
        return None
    _read_running(reading)
    if isinstance(target, LiveProcess):
        _read_stopped(reading, target, mappings)
    else:
        _read_as_it_is(reading)
    return heap_of(reading)


def _read_running(reading: Reading) -> None:
    """Read all arenas while the process runs, and accept the arenas that did not change."""
    before = reading.lists()
    for state in reading.order:
        reading.copy(state)
        reading.walk(state.address)
    after = reading.lists()
    if not before.same(after) or after.amid:
        return
    for address, walk in reading.walks.items():
        if reading.copies[address].steady:
            reading.settle(address, after)
            del walk


def _read_as_it_is(reading: Reading) -> None:
    """Accept all arenas of a core file, with the contents of its caches."""
    lists = reading.lists()
    for address in reading.walks:
        if address not in reading.done and not reading.settle(address, lists):
            walk = reading.walks[address]
            mine = walk.place(lists.chunk) >= 0
            main = address == reading.libc.arena
            problem = reading.problems[address]
            reading.done[address] = ArenaHeap(walk.state, main, walk, problem, lists, mine)


def _read_stopped(reading: Reading, target: LiveProcess, mappings: Sequence[Mapping]) -> None:
    """Read the remaining arenas, a few per stop."""
    code = [one for one in mappings if "x" in one.permissions and _is_code_of(one, reading.libc)]
    tries: dict[int, int] = {}
    while left := [state for state in reading.order if state.address not in reading.done]:
        few, is_first = _next_few(left, tries)
        arena_bytes = sum(state.system_mem for state in few)
        with target.stopped([state.address for state in few], code, arena_bytes) as stop:
            order, lists = copy_stopped(reading, few, stop if is_first else None)
        known = {state.address for state in reading.order}
        reading.order += [state for state in order if state.address not in known]
        for address in (state.address for state in few):
            tries[address] = tries.get(address, 0) + 1
            if is_first and not (_is_steady(reading, address) and not lists.amid):
                continue  # a released thread may have changed it
            walked = address in reading.walks or reading.walk(address)
            if walked and reading.settle(address, lists):
                continue
            reading.walks.pop(address, None)
            if tries[address] >= _TRIES:
                state = reading.copies[address].state if address in reading.copies else order[0]
                give_up(reading, address, state, lists)


def _is_steady(reading: Reading, address: int) -> bool:
    return address in reading.copies and reading.copies[address].steady


def _is_code_of(mapping: Mapping, libc: Libc) -> bool:
    return mapping.path == libc.file


def _next_few(left: Sequence[State], tries: dict[int, int]) -> tuple[list[State], bool]:
    """Return the smallest remaining arenas, up to `_AT_ONCE` bytes.

    Arenas that were tried before come last. The second value is True if all returned arenas are
    new.
    """
    new = [state for state in left if state.address not in tries]
    ordered = sorted(new or left, key=lambda state: state.system_mem)
    sizes = np.cumsum([state.system_mem for state in ordered])
    return ordered[: max(1, int(np.searchsorted(sizes, _AT_ONCE)))], bool(new)


def _taken(heaps: Sequence[Heap]) -> list[tuple[int, int]]:
    """Return the ranges of all arenas."""
    ranges = []
    for heap in heaps:
        for arena in heap.arenas:
            if arena.walk is None:
                base = arena.state.address & -(64 << 20)
                ranges += [] if arena.main else [(base, base + (64 << 20))]
            else:
                ranges += [(piece.start, piece.writable_end) for piece in arena.walk.pieces]
    return ranges
