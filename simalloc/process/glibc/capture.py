"""Reads all heaps of glibc in a process so that each arena is from one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process.glibc.arena import ArenaCopy, Walk, copy_heaps, walk_arena
from simalloc.process.glibc.chunks import WalkError
from simalloc.process.glibc.layouts import PARAMETERS, Parameters
from simalloc.process.glibc.main_arena import copy_main
from simalloc.process.glibc.mapped import MappedBlock, MappedBlocks, chosen, find_mapped
from simalloc.process.glibc.state import Libc, State, arenas_of, find_libcs
from simalloc.process.glibc.tables import (
    Lists,
    Slot,
    Table,
    Words,
    find_slot,
    mark_cached,
    orphans,
    read_lists,
    read_tables,
)
from simalloc.process.live import LiveProcess, Stopped
from simalloc.process.mappings import Mapping
from simalloc.process.region import in_regions, memory_of
from simalloc.process.target import Target, Thread, TooLargeError

_AT_ONCE: Final = 256 << 20
"""Bytes of arenas that are copied under one stop; a larger arena has a stop of its own."""
_TRIES: Final = 4
"""Stops for an arena before it is reported as damaged."""
_MAPPED_TRIES: Final = 5
_SLOT_TRIES: Final = 10


@dataclass(frozen=True, eq=False)
class ArenaHeap:
    """One arena of a captured heap."""

    state: State
    main: bool
    walk: Walk | None
    """None if it could not be walked."""
    problem: str | None
    lists: Lists
    """The caches at the moment when the arena was read."""
    mine: NDArray[np.bool_]
    """Mask of the chunks in `lists` that are in this arena."""


@dataclass(frozen=True, eq=False)
class Heap:
    """All that one malloc of glibc has."""

    libc: Libc
    parameters: Parameters
    arenas: Sequence[ArenaHeap]
    masked: bool
    slot: Slot | None
    elsewhere: NDArray[np.uint64]
    """Chunks in caches that are in no arena: from 2.43 on, blocks that were mapped alone."""


@dataclass(frozen=True, eq=False)
class Capture:
    """All heaps of glibc in a process."""

    heaps: Sequence[Heap]
    mapped: MappedBlocks
    mappings: Sequence[Mapping]
    threads: Sequence[Thread]
    unused: Sequence[Libc]


@dataclass
class _Reading:
    """The state of reading one malloc."""

    target: Target
    libc: Libc
    parameters: Parameters
    threads: Sequence[Thread]
    others: Sequence[Libc] = ()
    slot: Slot | None = None
    masked: bool = True
    done: dict[int, ArenaHeap] = field(default_factory=dict)
    copies: dict[int, ArenaCopy] = field(default_factory=dict)
    walks: dict[int, Walk] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)
    order: list[State] = field(default_factory=list)

    def copy(self, state: State) -> None:
        """Copy an arena; note why if that is not possible."""
        old = self.copies.pop(state.address, None)
        self.walks.pop(state.address, None)
        try:
            if state.address == self.libc.arena:
                copied = copy_main(self.target, state, self.parameters, old, self.others)
            else:
                copied = copy_heaps(self.target, state, self.parameters, old)
            self.copies[state.address] = copied
        except (WalkError, TooLargeError) as error:
            self.problems[state.address] = str(error)

    def walk(self, address: int) -> bool:
        """Walk the copy of an arena; return whether it is right."""
        if address not in self.copies:
            return False
        main = address == self.libc.arena
        for masked in self._maskings():
            try:
                self.walks[address] = walk_arena(self.copies[address], main=main, masked=masked)
            except WalkError as error:
                self.problems[address] = str(error)
            else:
                self.masked = masked
                self.problems.pop(address, None)
                return True
        return False

    def _maskings(self) -> tuple[bool, ...]:
        """Return the possible storages of links: 2.31 does not mask them, and later versions do."""
        _, number = self.libc.parameters_layouts[0]
        return (True,) if number else (self.masked, not self.masked)

    def tables(self) -> Sequence[Table]:
        """Read the tables of all threads as they are now."""
        return read_tables(self.target, self.threads, self.slot) if self.slot else ()

    def lists(self, tables: Sequence[Table] | None = None, words: Words | None = None) -> Lists:
        """Read all caches as they are now; `words` returns words of memory."""
        words = words or self.target.words
        tables = self.tables() if tables is None else tables
        places = self.parameters.cache_count
        found = read_lists(words, tables, places, masked=self.masked)
        if found.amid and PARAMETERS[self.libc.parameters_layouts[0][1]].heap_page is None:
            other = read_lists(words, tables, places, masked=not self.masked)
            if other.amid < found.amid:
                self.masked = not self.masked
                return other
        return found

    def settle(self, address: int, lists: Lists) -> bool:
        """Take an arena with the caches of its moment, unless these do not fit it."""
        walk = self.walks[address]
        mine, odd = mark_cached(walk, lists)
        if lists.endless:
            self.problems[address] = "the list of a thread's cache has no end"
            return False
        if len(odd) > lists.amid:
            self.problems[address] = f"{len(odd)} chunks in caches are not in use"
            return False
        main = address == self.libc.arena
        self.done[address] = ArenaHeap(walk.state, main, walk, None, lists, mine)
        return True


def capture(target: Target) -> Capture:
    """Read all heaps of glibc in a process.

    Everything is read while the process runs. Arenas that changed meanwhile are read again with all
    threads stopped and no arena locked. Raises `ProcessError` if the memory cannot be read, or is
    so damaged that the search would not end.
    """
    with target.limited_time():
        return _capture(target)


def _capture(target: Target) -> Capture:
    mappings = target.mappings()
    libcs = find_libcs(target, mappings)
    used = [libc for libc in libcs if not libc.unused]
    used.sort(key=lambda libc: -libc.arena)  # the program's own was mapped first
    found = [_read_heap(target, libc, mappings, used) for libc in used]
    heaps = [heap for heap in found if heap is not None]
    mapped = _read_mapped(target, heaps)
    threads = target.threads()
    return Capture(heaps, mapped, target.mappings(), threads, [x for x in libcs if x.unused])


def _read_heap(
    target: Target, libc: Libc, mappings: Sequence[Mapping], used: Sequence[Libc]
) -> Heap | None:
    parameters = libc.parameters(target)
    if parameters is None:
        return None
    others = [one for one in used if one is not libc]
    reading = _Reading(target, libc, parameters, target.threads(), others)
    reading.order = arenas_of(target, libc)
    arenas = {state.address for state in reading.order}
    foreign = {state.address for one in others for state in arenas_of(target, one)}
    for _ in range(_SLOT_TRIES if isinstance(target, LiveProcess) else 1):
        # A thread that begins or ends has no table of its own for a moment.
        reading.threads = target.threads()
        mappings = target.mappings()
        reading.slot = find_slot(target, reading.threads, mappings, libc, arenas, foreign)
        if reading.slot is not None:
            break
    _read_running(reading)
    if isinstance(target, LiveProcess):
        _read_stopped(reading, target, mappings)
    else:
        _read_as_it_is(reading)
    return _heap_of(reading)


def _read_running(reading: _Reading) -> None:
    """Read everything without stopping; take the arenas that nobody changed."""
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


def _read_as_it_is(reading: _Reading) -> None:
    """Take all arenas of a core file, and what its caches say of them."""
    lists = reading.lists()
    for address in reading.walks:
        if address not in reading.done and not reading.settle(address, lists):
            walk = reading.walks[address]
            mine = walk.place(lists.chunk) >= 0
            main = address == reading.libc.arena
            problem = reading.problems[address]
            reading.done[address] = ArenaHeap(walk.state, main, walk, problem, lists, mine)


def _read_stopped(reading: _Reading, target: LiveProcess, mappings: Sequence[Mapping]) -> None:
    """Read the arenas that are left, a few under each stop."""
    code = [one for one in mappings if "x" in one.permissions and _is_code_of(one, reading.libc)]
    tries: dict[int, int] = {}
    while left := [state for state in reading.order if state.address not in reading.done]:
        few, is_first = _next_few(left, tries)
        arena_bytes = sum(state.system_mem for state in few)
        with target.stopped([state.address for state in few], code, arena_bytes) as stop:
            order, lists = _copy_stopped(reading, few, stop if is_first else None)
        known = {state.address for state in reading.order}
        reading.order += [state for state in order if state.address not in known]
        for address in (state.address for state in few):
            tries[address] = tries.get(address, 0) + 1
            if is_first and not (_is_steady(reading, address) and not lists.amid):
                continue  # a thread that was let go may have changed it
            walked = address in reading.walks or reading.walk(address)
            if walked and reading.settle(address, lists):
                continue
            reading.walks.pop(address, None)
            if tries[address] >= _TRIES:
                state = reading.copies[address].state if address in reading.copies else order[0]
                _give_up(reading, address, state, lists)


def _copy_stopped(
    reading: _Reading, few: Sequence[State], stop: Stopped | None
) -> tuple[list[State], Lists]:
    """Copy arenas of stopped threads; return all arenas and the caches as they are now.

    With `stop`, each thread is let go as soon as its own arena has been copied.
    """
    reading.threads = reading.target.threads()
    reading.parameters = reading.libc.parameters(reading.target) or reading.parameters
    order = arenas_of(reading.target, reading.libc)
    tables = reading.tables()
    changed = [state for state in few if not _still_right(reading, state, order)]
    is_all = len(changed) == len(order)
    lists = None if is_all else reading.lists(tables)
    for number, state in enumerate(changed):
        if stop is not None:
            stop.keep(_threads_of(reading, tables, order, changed[number:]))
        reading.copy(state)
    return order, lists or reading.lists(tables, _copied_words(reading))


def _threads_of(
    reading: _Reading, tables: Sequence[Table], order: Sequence[State], left: Sequence[State]
) -> set[int]:
    """Return the threads whose arena is one of those left, or is unknown."""
    others = {state.address for state in order} - {state.address for state in left}
    free = {table.thread for table in tables if table.arena in others}
    return {thread.number for thread in reading.threads} - free


def _copied_words(reading: _Reading) -> Words:
    """Return a function for words of memory, which reads only what no copy of an arena has."""
    regions = [region for copy in reading.copies.values() for region in copy.regions]
    memory = memory_of(regions)

    def words(address: NDArray[np.uint64]) -> NDArray[np.uint64]:
        found = np.empty(len(address), np.uint64)
        if memory.words(np.ascontiguousarray(address), found):
            outside = ~in_regions(regions, address)
            found[outside] = reading.target.words(address[outside])
        return found

    return words


def _is_steady(reading: _Reading, address: int) -> bool:
    return address in reading.copies and reading.copies[address].steady


def _is_code_of(mapping: Mapping, libc: Libc) -> bool:
    return mapping.path == libc.file


def _next_few(left: Sequence[State], tries: dict[int, int]) -> tuple[list[State], bool]:
    """Return the smallest arenas that are left, up to `_AT_ONCE` bytes.

    Arenas that were tried before come last. The second value is True if they are all new.
    """
    new = [state for state in left if state.address not in tries]
    ordered = sorted(new or left, key=lambda state: state.system_mem)
    sizes = np.cumsum([state.system_mem for state in ordered])
    return ordered[: max(1, int(np.searchsorted(sizes, _AT_ONCE)))], bool(new)


def _still_right(reading: _Reading, state: State, now: Sequence[State]) -> bool:
    """Return whether the copy taken while the process ran still equals the arena."""
    if state.address not in reading.walks or not reading.copies[state.address].steady:
        return False
    current = next((one for one in now if one.address == state.address), None)
    return current is not None and current.content == reading.copies[state.address].state.content


def _give_up(reading: _Reading, address: int, state: State, lists: Lists) -> None:
    main = address == reading.libc.arena
    problem = reading.problems.get(address, "it changed whenever it was read")
    none = np.zeros(len(lists.chunk), np.bool_)
    reading.done[address] = ArenaHeap(state, main, None, problem, lists, none)


def _heap_of(reading: _Reading) -> Heap:
    """Return the heap read, with the tables of threads outside of this process marked too."""
    arenas = []
    for state in reading.order:
        if state.address not in reading.done:
            lists = read_lists(reading.target.words, [], 0, masked=reading.masked)
            _give_up(reading, state.address, state, lists)
        arenas.append(reading.done[state.address])
    if reading.slot is not None:
        _mark_orphans(reading, [one for one in arenas if one.walk is not None])
    elsewhere = _elsewhere(arenas)
    return Heap(reading.libc, reading.parameters, arenas, reading.masked, reading.slot, elsewhere)


def _mark_orphans(reading: _Reading, arenas: Sequence[ArenaHeap]) -> None:
    assert reading.slot is not None
    regions = [region for one in arenas if one.walk for region in one.walk.regions]
    memory = memory_of(regions)

    def words(address: NDArray[np.uint64]) -> NDArray[np.uint64]:
        reading.target.check_time()
        found = np.empty(len(address), np.uint64)
        memory.words(np.ascontiguousarray(address), found)
        return found

    places = reading.parameters.cache_count
    for one in arenas:
        assert one.walk is not None
        lists = orphans(one.walk, reading.slot.layout, places, words, masked=reading.masked)
        if lists.tables:
            for other in arenas:
                assert other.walk is not None
                mark_cached(other.walk, lists)


def _elsewhere(arenas: Sequence[ArenaHeap]) -> NDArray[np.uint64]:
    """Return chunks in caches that are in no arena."""
    if not arenas or any(one.walk is None for one in arenas):
        return np.empty(0, np.uint64)
    found = arenas[-1].lists.chunk
    known = np.zeros(len(found), np.bool_)
    for one in arenas:
        if one.walk is not None:
            known |= one.walk.contains(found)
    return found[~known]


def _read_mapped(target: Target, heaps: Sequence[Heap]) -> MappedBlocks:
    """Read the blocks of all heaps that were mapped alone, again while their number changes."""
    taken = _taken(heaps)
    less = heaps[0].parameters.chunk_less if heaps else 0
    result = MappedBlocks([], 0, 0)
    for _ in range(_MAPPED_TRIES if heaps else 0):
        before = _counted(target, heaps)
        found = find_mapped(target, target.busy_runs(), taken, less)
        after = _counted(target, heaps)
        result = chosen(found, *after)
        if len(found) > after[0] and not result.agrees:
            result = chosen(found, *after, _pointed(target, found))
        if before == after and result.agrees:
            break
    return result


def _pointed(target: Target, found: Sequence[MappedBlock]) -> list[bool]:
    """Return to which blocks some aligned word of the process points."""
    wanted = np.array(sorted({block.address + 16 for block in found}), np.uint64)
    seen: set[int] = set()
    for run in target.mappings():
        if not (run.readable and run.writable):
            continue
        region = target.region(run.start, run.end)
        words = region.words
        words = words[(words >= wanted[0]) & (words <= wanted[-1])]
        seen.update(words[np.isin(words, wanted)].tolist())
    return [block.address + 16 in seen for block in found]


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


def _counted(target: Target, heaps: Sequence[Heap]) -> tuple[int, int]:
    """Return the number of blocks that all heaps count as mapped separately, and their bytes."""
    number = size = 0
    for heap in heaps:
        parameters = heap.libc.parameters(target) or heap.parameters
        number += parameters.mapped
        size += parameters.mapped_bytes
    return number, size
