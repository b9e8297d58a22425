"""Reading of one malloc's heap: its arenas and caches are copied, and the copies are walked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simalloc.process.glibc.arena import ArenaCopy, Walk, copy_heaps, walk_arena
from simalloc.process.glibc.chunks import CACHED, LIVE, WalkError
from simalloc.process.glibc.layouts import HEAP_BYTES, PARAMETERS, Parameters
from simalloc.process.glibc.main_arena import copy_main
from simalloc.process.glibc.state import Libc, State, arenas_of, stray_link
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
from simalloc.process.live import Stopped
from simalloc.process.region import in_regions, memory_of
from simalloc.process.target import Target, Thread, TooLargeError


@dataclass(frozen=True, eq=False)
class ArenaHeap:
    """One arena of a captured heap."""

    state: State
    main: bool
    walk: Walk | None
    """Chunks of the arena, or None if it could not be walked."""
    problem: str | None
    lists: Lists
    """Contents of the caches at the moment when the arena was read."""
    mine: NDArray[np.bool_]
    """Mask of the chunks in `lists` that are in this arena."""


@dataclass(frozen=True, eq=False)
class Heap:
    """All data of one glibc malloc."""

    libc: Libc
    parameters: Parameters
    arenas: Sequence[ArenaHeap]
    masked: bool
    slot: Slot | None
    thread_arenas: Mapping[int, int]
    """Address of each thread's arena by thread number, or 0 for a thread without an arena."""
    elsewhere: NDArray[np.uint64]
    """Cached chunks outside all arenas. From 2.43 on, these are separately mapped blocks."""
    stray: int | None
    """Result of `stray_link`."""


@dataclass
class Reading:
    """State of the reading of one malloc."""

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
    stray: int | None = None
    """Result of `stray_link`, as in `Heap`."""
    thread_arenas: dict[int, int] | None = None
    """Arenas of threads as in `Heap`, or None before they are read."""

    def read_order(self) -> None:
        """Read the current ring of arenas."""
        self.order = arenas_of(self.target, self.libc)
        self.stray = stray_link(self.order)

    def find_slot(self) -> bool:
        """Search for the place of the thread caches. Return whether it was found."""
        self.threads = self.target.threads()
        self.slot = find_slot(
            self.target,
            self.threads,
            self.target.mappings(),
            self.libc,
            {state.address for state in self.order},
            {state.address for one in self.others for state in arenas_of(self.target, one)},
        )
        return self.slot is not None

    def copy(self, state: State) -> None:
        """Copy an arena. Store the reason if the copy fails."""
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
        """Walk the copy of an arena. Return whether it is consistent."""
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
        """Return the possible values of `masked`. Links are masked in all versions after 2.31."""
        _, number = self.libc.parameters_layouts[0]
        return (True,) if number else (self.masked, not self.masked)

    def tables(self) -> Sequence[Table]:
        """Read the current tables of all threads."""
        return read_tables(self.target, self.threads, self.slot) if self.slot else ()

    def lists(self, tables: Sequence[Table] | None = None, words: Words | None = None) -> Lists:
        """Read the current contents of all caches. `words` returns words of memory."""
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

    def read_thread_arenas(self) -> None:
        """Read the current arena of each thread."""
        self.thread_arenas = {}
        known = [one for one in self.target.threads() if one.pointer is not None]
        if self.slot is not None and known:
            behind = self.slot.offset + self.slot.layout.arena
            place = np.array([(one.pointer or 0) + behind for one in known], np.uint64)
            words = self.target.words(place).tolist()
            self.thread_arenas = {one.number: at for one, at in zip(known, words, strict=True)}

    def taken(self) -> list[tuple[int, int]]:
        """Return the ranges of all arenas."""
        ranges = []
        for state in self.order:
            if state.address in self.copies:
                pieces = self.copies[state.address].pieces
                ranges += [(piece.start, piece.writable_end) for piece in pieces]
            elif state.address != self.libc.arena:
                base = state.address & -HEAP_BYTES
                ranges.append((base, base + HEAP_BYTES))
        return ranges

    def settle(self, address: int, lists: Lists) -> bool:
        """Accept an arena with the caches of its moment, unless the caches contradict it."""
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


def start_reading(
    target: Target, libc: Libc, used: Sequence[Libc], *, tries: int
) -> Reading | None:
    """Begin to read a malloc. Return None if its parameters cannot be found.

    `used` are all mallocs of the process. `tries` is the number of searches for the thread caches,
    which may fail because a thread that begins or exits has no own table for a moment.
    """
    parameters = libc.parameters(target)
    if parameters is None:
        return None
    others = [one for one in used if one is not libc]
    reading = Reading(target, libc, parameters, target.threads(), others)
    reading.read_order()
    for _ in range(tries):
        if reading.find_slot():
            break
    return reading


def copy_stopped(
    reading: Reading, few: Sequence[State], stop: Stopped | None
) -> tuple[list[State], Lists]:
    """Copy arenas of stopped threads. Return all current arenas and the current caches.

    With `stop`, each thread is released as soon as its own arena has been copied.
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
    reading: Reading, tables: Sequence[Table], order: Sequence[State], left: Sequence[State]
) -> set[int]:
    """Return the threads whose arena is a remaining arena or unknown."""
    others = {state.address for state in order} - {state.address for state in left}
    free = {table.thread for table in tables if table.arena in others}
    return {thread.number for thread in reading.threads} - free


def _copied_words(reading: Reading) -> Words:
    """Return a function for words of memory, which reads only words outside the arenas' copies."""
    regions = [region for copy in reading.copies.values() for region in copy.regions]
    memory = memory_of(regions)

    def words(address: NDArray[np.uint64]) -> NDArray[np.uint64]:
        found = np.empty(len(address), np.uint64)
        if memory.words(np.ascontiguousarray(address), found):
            outside = ~in_regions(regions, address)
            found[outside] = reading.target.words(address[outside])
        return found

    return words


def _still_right(reading: Reading, state: State, now: Sequence[State]) -> bool:
    """Return whether the copy taken while the process ran is still equal to the arena."""
    if state.address not in reading.walks or not reading.copies[state.address].steady:
        return False
    current = next((one for one in now if one.address == state.address), None)
    return current is not None and current.content == reading.copies[state.address].state.content


def give_up(reading: Reading, address: int, state: State, lists: Lists) -> None:
    """Store the reason why an arena could not be walked."""
    main = address == reading.libc.arena
    problem = reading.problems.get(address, "it changed during every read")
    none = np.zeros(len(lists.chunk), np.bool_)
    reading.done[address] = ArenaHeap(state, main, None, problem, lists, none)


def heap_of(reading: Reading) -> Heap:
    """Return the heap, in which tables of threads outside this process are also marked."""
    arenas = []
    for state in reading.order:
        if state.address not in reading.done:
            lists = read_lists(reading.target.words, [], 0, masked=reading.masked)
            give_up(reading, state.address, state, lists)
        arenas.append(reading.done[state.address])
    if reading.slot is not None:
        _mark_orphans(reading, [one for one in arenas if one.walk is not None])
    if reading.thread_arenas is None:
        reading.read_thread_arenas()
    return Heap(
        reading.libc, reading.parameters, arenas, reading.masked, reading.slot,
        reading.thread_arenas or {}, _elsewhere(arenas), reading.stray,
    )  # fmt: skip


def _mark_orphans(reading: Reading, arenas: Sequence[ArenaHeap]) -> None:
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
    """Return the cached chunks that are in no arena."""
    if not arenas or any(one.walk is None for one in arenas):
        return np.empty(0, np.uint64)
    found = arenas[-1].lists.chunk
    known = np.zeros(len(found), np.bool_)
    for one in arenas:
        if one.walk is not None:
            known |= one.walk.contains(found)
    return found[~known]


def mark_cached_by_others(heaps: Sequence[Heap]) -> list[Heap]:
    """Mark the chunks of each malloc that are in a thread's cache of another malloc.

    If a process has two libcs, the loader allocates with one libc and frees with the other.
    """
    return [
        replace(heap, elsewhere=_marked(heap.elsewhere, [one for one in heaps if one is not heap]))
        for heap in heaps
    ]


def _marked(chunks: NDArray[np.uint64], heaps: Sequence[Heap]) -> NDArray[np.uint64]:
    """Mark chunks as cached in the heaps that contain them. Return the other chunks."""
    for walk in (arena.walk for heap in heaps for arena in heap.arenas):
        if walk is not None:
            place = walk.place(chunks)
            found = place >= 0
            found[found] = walk.kind[place[found]] == LIVE
            walk.kind[place[found]] = CACHED
            chunks = chunks[~found]
    return chunks
