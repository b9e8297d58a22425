"""The caches of threads: their tables, and the chunks in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process.glibc.arena import Walk
from simalloc.process.glibc.chunks import CACHED, LIVE, OWN
from simalloc.process.glibc.layouts import FLAGS, HEADER, TableLayout, tables_of
from simalloc.process.glibc.state import Libc
from simalloc.process.mappings import Mapping, containing
from simalloc.process.target import Target, Thread

_REACHES: Final = ((16 << 10, None), (4 << 20, 4))
"""Search ranges for the place of the pointer to the table. Each range has a number of bytes below
the thread pointer and a number of threads to search, where None means all. A program with many
thread-local variables needs the longer range."""

Words = Callable[[NDArray[np.uint64]], NDArray[np.uint64]]


@dataclass(frozen=True)
class Slot:
    """Location of each thread's pointer to its table."""

    offset: int
    """Offset from the thread pointer, which is negative."""
    layout: TableLayout


@dataclass(frozen=True)
class Table:
    """A table and the thread that uses it."""

    address: int
    content: bytes
    layout: TableLayout
    thread: int | None
    """Number of the thread, or None if it existed only in the process that forked this process."""
    arena: int
    """Address of the thread's arena, or 0."""

    @property
    def entries(self) -> NDArray[np.uint64]:
        """The first chunk's pointer of each list, or 0."""
        return np.frombuffer(self.content, np.uint64, self.layout.lists, self.layout.entries)

    def counts(self, places: int) -> NDArray[np.int64]:
        """Return the number of chunks in each list. A list has `places` places."""
        counts = np.frombuffer(self.content, np.uint16, self.layout.lists).astype(np.int64)
        return places - counts if self.layout.counts_free_places else counts


@dataclass(frozen=True, eq=False)
class Lists:
    """The chunks in all caches, one entry per chunk."""

    tables: Sequence[Table]
    chunk: NDArray[np.uint64]
    number: NDArray[np.int64]
    """Number of the list that contains the chunk."""
    table: NDArray[np.int64]
    """Index of the table."""
    amid: int
    """Number of lists whose length is not their count, because their threads were changing them."""
    endless: int
    """Number of lists that lead back to one of their own chunks."""

    def same(self, other: Lists) -> bool:
        """Return whether the lists are equal."""
        return self.tables == other.tables and np.array_equal(self.chunk, other.chunk)


def find_slot(
    target: Target,
    threads: Sequence[Thread],
    mappings: Sequence[Mapping],
    libc: Libc,
    arenas: Collection[int],
    foreign: Collection[int] = (),
) -> Slot | None:
    """Return the place of the threads' pointers to their tables, or None if no place fits.

    At that place, every thread has the address of a separate table or no address. A place belongs
    to another libc if a thread has one of that libc's arenas (`foreign`) near it.
    """
    pointers = [thread.pointer for thread in threads if thread.pointer is not None]
    for reach, count in _REACHES if pointers else ():
        sample = pointers[:count]
        below = min([reach, *(_below(mappings, pointer) for pointer in sample)])
        blocks = np.array([_words_below(target, pointer, below) for pointer in sample])
        slots: list[tuple[tuple[int, int], Slot]] = []
        for layout in tables_of(libc.layout):
            offsets = _likely_offsets(target, blocks, layout)
            slots += _scored(target, pointers, offsets, layout, arenas, foreign)
        if slots:
            return max(slots, key=itemgetter(0))[1]
    return None


def _words_below(target: Target, pointer: int, size: int) -> NDArray[np.uint64]:
    """Return the words in `size` bytes below a thread pointer. Words in absent pages are 0."""
    region = target.region(pointer - size, pointer)
    first = (pointer - size - region.start) // 8
    return region.words[first : first + size // 8]


def _likely_offsets(
    target: Target, blocks: NDArray[np.uint64], layout: TableLayout
) -> NDArray[np.int64]:
    """Return the offsets from thread pointers at which threads have a possible table's address.

    A row of `blocks` contains the words below the pointer of one thread.
    """
    columns = np.flatnonzero(_are_tables(target, blocks, layout).any(axis=0))
    offsets: NDArray[np.int64] = 8 * (columns - blocks.shape[1])
    return offsets


def _scored(
    target: Target,
    pointers: Sequence[int],
    offsets: NDArray[np.int64],
    layout: TableLayout,
    arenas: Collection[int],
    foreign: Collection[int],
) -> Iterator[tuple[tuple[int, int], Slot]]:
    """Yield the places that fit all threads, with the numbers of arenas and of tables."""
    place = np.array(pointers, np.int64)[:, None] + offsets
    blocks, arena = (
        target.words((place + more).astype(np.uint64).reshape(-1)).reshape(place.shape)
        for more in (0, layout.arena)
    )
    is_table = _are_tables(target, blocks, layout)
    has_arena, is_foreign = (
        np.isin(arena, np.array(sorted(known), np.uint64)) for known in (arenas, foreign)
    )
    dummies = 1 if layout.counts_free_places else 0
    for column, offset in enumerate(offsets.tolist()):
        held = blocks[is_table[:, column], column]
        others = np.unique(blocks[~is_table[:, column], column])
        if len(np.unique(held)) != len(held) or np.count_nonzero(others) > dummies:
            continue
        if (is_table[:, column] & is_foreign[:, column]).any():
            continue
        with_arena = is_table[:, column] & has_arena[:, column]
        yield (int(np.count_nonzero(with_arena)), len(held)), Slot(offset, layout)


def _below(mappings: Sequence[Mapping], pointer: int) -> int:
    """Return the number of bytes below a thread pointer in its mapping."""
    here = containing(mappings, pointer)
    return 0 if here is None else pointer - here.start


def _are_tables(
    target: Target, blocks: NDArray[np.uint64], layout: TableLayout
) -> NDArray[np.bool_]:
    """Return a mask of the words that point to a chunk of a table's size."""
    likely = (blocks % np.uint64(16) == 0) & (blocks > 1 << 16) & (blocks < 1 << 47)
    words = np.zeros(blocks.shape, np.uint64)
    words[likely] = target.words(blocks[likely] - np.uint64(8))
    sizes = words & np.uint64(~FLAGS & 0xFFFFFFFFFFFFFFFF)
    found: NDArray[np.bool_] = likely & np.isin(sizes, np.array(layout.chunks, np.uint64))
    return found


def read_tables(target: Target, threads: Sequence[Thread], slot: Slot) -> list[Table]:
    """Return the current tables of all threads."""
    layout = slot.layout
    known = [thread for thread in threads if thread.pointer is not None]
    places = np.array([(thread.pointer or 0) + slot.offset for thread in known], np.uint64)
    addresses = target.words(places).tolist()
    arenas = target.words(places + np.uint64(layout.arena)).tolist()
    heads = np.array([max(address, 8) - 8 for address in addresses], np.uint64)
    sizes = (target.words(heads) & np.uint64(~FLAGS & 0xFFFFFFFFFFFFFFFF)).tolist()
    right = [at for at, size in enumerate(sizes) if addresses[at] and size in layout.chunks]
    content = np.zeros((len(right), layout.size), np.uint8)
    length = np.full(len(right), layout.size, np.uint64)
    place = np.arange(len(right), dtype=np.uint64) * np.uint64(layout.size)
    start = np.array([addresses[at] for at in right], np.uint64)
    target.copy(start, length, place, content.reshape(-1))
    return [
        Table(addresses[at], row.tobytes(), layout, known[at].number, arenas[at])
        for at, row in zip(right, content, strict=True)
    ]


def read_lists(words: Words, tables: Sequence[Table], places: int, *, masked: bool) -> Lists:
    """Follow the lists of all tables, up to their counts and to the first repeated chunk.

    `words` returns the words at addresses, and `places` is the number of places of each list.
    """
    counts = np.array([table.counts(places) for table in tables], np.int64).reshape(-1)
    heads = np.array([table.entries for table in tables], np.uint64).reshape(-1)
    lists = tables[0].layout.lists if tables else 1
    limit = np.clip(counts, 0, 1 << 16) + 2
    where = np.flatnonzero(heads)
    at, length = heads[where], np.zeros(len(heads), np.int64)
    found: list[tuple[NDArray[np.uint64], NDArray[np.int64]]] = []
    astray, endless = np.zeros((2, len(heads)), np.bool_)
    earlier = np.zeros(len(heads), np.uint64)  # the chunks after 0, 1, 2, 4, 8 ... steps
    while len(where):
        wrong = (at % np.uint64(16) != 0) | (at >= 1 << 47) | (length[where] >= limit[where])
        endless[where] = at == earlier[where]
        wrong |= endless[where]
        if len(found) & (len(found) - 1) == 0:
            earlier[where] = at
        astray[where[wrong]] = True
        where, at = where[~wrong], at[~wrong]
        found.append((at, where))
        length[where] += 1
        at = words(at) ^ (at >> np.uint64(12)) if masked else words(at)
        where, at = where[at != 0], at[at != 0]
    items = np.concatenate([np.empty(0, np.uint64), *(one for one, _ in found)])
    origin = np.concatenate([np.empty(0, np.int64), *(one for _, one in found)])
    amid = int(np.count_nonzero(astray | (length != counts)))
    chunks = items - np.uint64(HEADER)
    return Lists(
        tables, chunks, origin % lists, origin // lists, amid, int(np.count_nonzero(endless))
    )


def mark_cached(walk: Walk, lists: Lists) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """Mark an arena's chunks that are in caches, and the chunks of the caches' tables.

    Returns a mask of the cached chunks in the arena, and the listed chunks that cannot be in a
    cache. These chunks are not in use, have another size, or are addresses in the arena without a
    chunk.
    """
    place = walk.place(lists.chunk)
    astray = lists.chunk[walk.contains(lists.chunk) & (place < 0)]
    mine = place >= 0
    here, number = place[mine], lists.number[mine]
    layout = lists.tables[0].layout if lists.tables else None
    bounds = np.array(
        [layout.chunk_sizes(one) for one in range(layout.lists)] if layout else np.empty((0, 2)),
        np.uint64,
    )
    size = walk.size[here]
    right = (size >= bounds[number, 0]) & (size <= bounds[number, 1]) & (walk.kind[here] == LIVE)
    _, first = np.unique(here, return_index=True)
    once = np.zeros(len(here), np.bool_)
    once[first] = True
    walk.kind[here[right & once]] = CACHED
    at = walk.place(np.array([table.address - HEADER for table in lists.tables], np.uint64))
    at = at[at >= 0]
    walk.kind[at[walk.kind[at] == LIVE]] = OWN
    return mine, np.concatenate([lists.chunk[mine][~(right & once)], astray])


def orphans(walk: Walk, layout: TableLayout, places: int, words: Words, *, masked: bool) -> Lists:
    """Return the tables in an arena whose threads are not in this process, with their lists.

    Such a table is a live chunk of a table's size with chunks in its lists. The length of each list
    must be its count.
    """
    sizes = np.array(layout.chunks, np.uint64)
    likely = np.flatnonzero((walk.kind == LIVE) & np.isin(walk.size, sizes))
    found = []
    for address in (walk.address[likely] + np.uint64(HEADER)).tolist():
        content = _content(walk, address, layout.size)
        table = Table(address, content, layout, None, 0)
        counts, entries = table.counts(places), table.entries
        if not entries.any() or ((counts != 0) != (entries != 0)).any() or (counts < 0).any():
            continue
        if (entries % np.uint64(16)).any() or counts.max() > max(places, 0xFFFF):
            continue
        lists = read_lists(words, [table], places, masked=masked)
        if not lists.amid:
            found.append(table)
    return read_lists(words, found, places, masked=masked)


def _content(walk: Walk, address: int, size: int) -> bytes:
    region = next(one for one in walk.regions if one.start <= address < one.end)
    return region.bytes_at(address, size)
