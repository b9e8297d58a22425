"""Heap of a real process with which a model of ptmalloc begins (policy/families/ptmalloc.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.policy.families.ptmalloc import HEAP, Ptmalloc
from simalloc.trace import EventSource, Trace
from simalloc.trace.events import Op
from simalloc.trace.sample import refuse_sample

if TYPE_CHECKING:
    from simalloc.process.heap_state import HeapState
    from simalloc.process.snapshot import Snapshot

FAST_LIST, UNSORTED_LIST, BIN, CACHE = range(4)
"""Kinds of lists, as in `simalloc.process.heap_state`."""

LIVE, CACHED, FREE, TOP, TABLE, WASTE = range(6)
"""Kinds of blocks. A waste block is a fence, or memory that another caller of `sbrk` obtained."""

MAPPED: Final = -1
"""Segment number of a block that was mapped directly."""

_HEADER: Final = 16
_SMALLEST_TABLE: Final = 640
_STATES: Final = np.array([LIVE, CACHED, CACHED, FREE, TOP, LIVE, TABLE])
"""Kind of block for each state of a snapshot's blocks."""
_BY_HAND: Final = (
    "trim_threshold", "top_pad", "mmap_threshold", "mmap_max", "tcache_count", "arena_max",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Start:
    """A heap of glibc's malloc. Each array has one row per item, and indices count from 0.

    The first allocations of the trace get the live blocks, in the order of `block`.
    """

    name: str
    """Name of the process."""
    has_fast_lists: bool
    parameters: Mapping[str, int]
    """Tunables of the process, named as in `HeapState`."""
    segment: NDArray[np.int64]
    """Segments: arena, size, maximum size so far. The break is first, then the heaps, the older
    ones of an arena first.
    """
    block: NDArray[np.int64]
    """Blocks in address order: segment or `MAPPED`, offset, size, kind. The blocks of a segment
    tile it. The offset of a mapped block is the number of bytes in front of it.
    """
    entry: NDArray[np.int64]
    """Blocks in lists, in the order of insertion: kind of list, arena or thread, block."""
    arena: NDArray[np.int64]
    """Arenas: number of attached threads, segment of the last remainder or -1, its offset."""
    idle: NDArray[np.int64]
    """Arenas without threads. The next thread gets the last one."""
    thread: NDArray[np.int64]
    """Threads: arena or -1, 1 with a cache or else 0, block of the cache's table or -1."""
    resident: NDArray[np.int64]
    """Runs of resident bytes: mapped block or -1, segment or -1, start and end in the block or
    segment.
    """

    @classmethod
    def of(cls, snapshot: Snapshot) -> Start:
        """Return the heap of a snapshot; raises `SimallocError` if a model cannot begin with it."""
        try:
            return cls._of(snapshot)
        except (ValueError, IndexError) as error:
            raise SimallocError(f"the snapshot of {snapshot.name} is damaged: {error}") from None

    @classmethod
    def _of(cls, snapshot: Snapshot) -> Start:
        state = snapshot.state
        if state is None:
            raise SimallocError(
                f"no model can begin with the snapshot of {snapshot.name}: it has no heap of "
                "glibc, an arena could not be walked, or the main arena has memory outside of "
                "the break"
            )
        address, block = _blocks(snapshot, state)
        entry = state.lists.copy()
        entry[:, 2] = _places(address, state.lists[:, 2])
        thread = state.threads.copy()
        table = _places(address, state.threads[:, 2])
        thread[:, 2] = np.where(state.threads[:, 1] != 0, table, -1)
        arena = np.column_stack([state.arenas[:, 0], *_in_segments(state, state.arenas[:, 1])])
        segment = np.column_stack(
            [
                state.segments[:, 0],
                state.segments[:, 2] - state.segments[:, 1],
                state.segments[:, 3] - state.segments[:, 1],
            ]
        )
        block = _without_lost(block, entry)
        found = cls(
            snapshot.name, state.has_fast_lists, state.parameters, segment, block, entry, arena,
            state.idle, thread, _resident(state, address),
        )  # fmt: skip
        found.check()
        return found

    @property
    def live_blocks(self) -> int:
        """Number of live blocks, which the first allocations of the trace get."""
        return int(np.count_nonzero(self.block[:, 3] == LIVE))

    @property
    def mapped_bytes(self) -> int:
        """Bytes of all segments and mapped blocks."""
        alone = self.block[self.block[:, 0] == MAPPED]
        return int(self.segment[:, 1].sum() + alone[:, 1:3].sum())

    @property
    def live_sizes(self) -> NDArray[np.int64]:
        """For each live block, in the order of `block`, the largest request that it can serve."""
        live = self.block[self.block[:, 3] == LIVE]
        mapped = live[:, 0] == MAPPED
        sizes: NDArray[np.int64] = live[:, 2] - np.where(mapped, 16, 8)
        return sizes

    def before(self, source: EventSource) -> EventSource:
        """Return a trace with an allocation of each live block in front.

        A trace that was recorded from a running process already begins with these allocations.
        Raises `SimallocError` if such a trace has another number of them, or if the trace is a
        sample.
        """
        refuse_sample(source)
        known = source.provenance.get("live_at_start")
        if known is not None and known["objects"] == self.live_blocks:
            return source
        if known is not None:
            raise SimallocError(
                f"{source.name} begins with {known['objects']:,} live blocks and {self.name} has "
                f"{self.live_blocks:,}; use a snapshot of the moment when the recording began"
            )
        trace, size = source.in_memory(), self.live_sizes
        first = {name: np.zeros(len(size), column.dtype) for name, column in trace.columns.items()}
        if trace.time is not None and len(trace):
            first["time"][:] = trace.time[0]
        columns = {name: np.append(first[name], column) for name, column in trace.columns.items()}
        total = int(size.sum())
        start = {
            "objects": len(size),
            "bytes": total,
            "peak_live_bytes": total + trace.max_live_bytes,
        }
        return Trace.from_events(
            np.append(np.full(len(size), Op.MALLOC, np.uint8), trace.op),
            np.append(np.arange(len(size)), trace.object + len(size)),
            np.append(size, trace.size),
            name=trace.name,
            provenance={**trace.provenance, "live_at_start": start},
            **columns,
        )

    def columns(self, threads: Sequence[int]) -> tuple[NDArray[np.int64], ...]:
        """Return the heap for the C core; `threads` contains the trace's number of each thread."""
        thread = np.column_stack([np.array(threads, np.int64), self.thread])
        parts = self.segment, self.block, self.entry, self.arena, self.idle, thread, self.resident
        return tuple(np.ascontiguousarray(part, np.int64).reshape(-1) for part in parts)

    def check(self) -> None:
        """Raise `SimallocError` unless all parts are consistent."""
        if not (self._segments_agree() and self._lists_agree() and self._threads_agree()):
            raise SimallocError(f"the lists and blocks of the snapshot of {self.name} do not agree")

    def _segments_agree(self) -> bool:
        """Return whether each arena has segments and the blocks of each segment tile it."""
        segments, arenas = len(self.segment), len(self.arena)
        number, where, offset, length = self.segment[:, 0], *self.block[:, :3].T
        if not np.array_equal(np.unique(number), np.arange(arenas)):
            return False
        inside = where >= 0
        size = np.bincount(where[inside], length[inside], minlength=segments)
        tops = np.bincount(number[where[inside & (self.block[:, 3] == TOP)]], minlength=arenas)
        return bool(
            (np.diff(number) >= 0).all()
            and np.count_nonzero(number == 0) == 1
            and (where >= MAPPED).all()
            and (offset >= 0).all()
            and (length > 0).all()
            and np.array_equal(size, self.segment[:, 1])
            and (self.segment[:, 1] <= self.segment[:, 2]).all()
            and (self.segment[1:, 2] <= HEAP).all()
            and (tops <= 1).all()
            and self._runs_agree()
        )

    def _runs_agree(self) -> bool:
        """Return whether each resident run is within an existing segment or mapped block."""
        block, segment, start, end = self.resident.T
        return bool(
            ((block >= 0) | (segment >= 0)).all()
            and (self.block[block[block >= 0], 0] == MAPPED).all()
            and (start >= 0).all()
            and (start <= end).all()
            and (end <= self._sizes_of_runs()).all()
        )

    def _lists_agree(self) -> bool:
        """Return whether exactly the free and cached blocks are in lists that exist."""
        kind, owner, block = self.entry.T
        owners = np.where(kind == CACHE, len(self.thread), len(self.arena))
        is_listed = np.isin(self.block[:, 3], (CACHED, FREE))
        is_cached = np.isin(kind, (CACHE, FAST_LIST))
        return bool(
            ((owner >= 0) & (owner < owners)).all()
            and (block >= 0).all()
            and np.array_equal(np.bincount(block, minlength=len(self.block)), is_listed)
            and np.array_equal(self.block[block, 3] == CACHED, is_cached)
            and not (self.block[is_listed, 2] % 16).any()
            and (self.thread[owner[kind == CACHE], 1] == 1).all()
        )

    def _threads_agree(self) -> bool:
        """Return whether threads and idle arenas exist and the tunables are in range."""
        values = self.parameters
        return bool(
            ((self.thread >= -1) & (self.thread < [len(self.arena), 2, len(self.block)])).all()
            and (self.arena[:, 0] >= 0).all()
            and ((self.idle >= 0) & (self.idle < len(self.arena))).all()
            and len(np.unique(self.idle)) == len(self.idle)
            and values.keys() == {*_BY_HAND, "adjusts"}
            and all(0 <= value <= 1 << 40 for value in values.values())
            and max(values["tcache_count"], values["arena_max"]) < 1 << 16
            and values["adjusts"] <= 1
        )

    def _sizes_of_runs(self) -> NDArray[np.int64]:
        """Return for each resident run the size of the segment or mapped block that contains it."""
        block, segment = self.resident[:, 0], self.resident[:, 1]
        alone = self.block[np.maximum(block, 0)]
        sizes: NDArray[np.int64] = np.where(
            block >= 0, alone[:, 1] + alone[:, 2], self.segment[np.maximum(segment, 0), 1]
        )
        return sizes

    def check_run(self, description: Ptmalloc, scale: int) -> None:
        """Raise `SimallocError` if a run of this description and scale cannot begin here."""
        if self.has_fast_lists == description.since(43):
            known = "2.36 or {0}2.41" if self.has_fast_lists else "2.43 or {0}2.44"
            known = known.format("ptmalloc:version=")
            raise SimallocError(
                f"{self.name} does not use glibc {description.version.value}; use "
                f"ptmalloc:version={known}"
            )
        if not description.mechanism or description.word != 8 or description.growth != 4096:
            raise SimallocError(
                "a run that begins with a real heap takes mechanism=on, word=8 and growth=4096"
            )
        if scale != 1:
            raise SimallocError("a run that begins with a real heap takes scale 1")
        if 0 < description.capacity < self.mapped_bytes:
            raise SimallocError(
                f"capacity is {description.capacity:,} bytes, but the run begins with a heap of "
                f"{self.mapped_bytes:,} bytes; choose a larger capacity"
            )

        self._check_lists(description)

    def _check_lists(self, description: Ptmalloc) -> None:
        """Raise `SimallocError` if a list contains larger blocks than the description permits."""
        size = self.block[self.entry[:, 2], 2]
        for kind, name in ((FAST_LIST, "mxfast"), (CACHE, "tcache_max")):
            largest = int(size[self.entry[:, 0] == kind].max(initial=0))
            if largest > description.resolved[name]:
                raise SimallocError(
                    f"{self.name} keeps blocks of {largest:,} bytes; use {name}={largest - 8}, the "
                    "setting of the process"
                )

    def tunables(self, description: Ptmalloc) -> dict[str, int]:
        """Return the tunables of a run that begins with this heap, as the engines need them.

        A tunable that the description leaves at its default has the process's value.
        """
        default = Ptmalloc()
        given = {n for n in _BY_HAND if getattr(description, n) != getattr(default, n)}
        values = {n: v for n, v in self.parameters.items() if n not in given and n != "adjusts"}
        adjusts = description.resolved["adjusts"] and self.parameters["adjusts"]
        return {**values, "adjusts": int(adjusts)}


def _blocks(snapshot: Snapshot, state: HeapState) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the addresses of all blocks in ascending order, and their rows."""
    found = snapshot.blocks
    chunk = found.address.astype(np.int64) - _HEADER
    segment, offset = _in_segments(state, chunk)
    kind = _STATES[found.state]
    fences = (kind == TABLE) & (found.size < _SMALLEST_TABLE)
    kind = np.where(fences, WASTE, kind)
    inside = segment >= 0
    parts = [np.stack([segment, offset, found.size, kind], axis=1)[inside]]
    for number, (_, start, end, _) in enumerate(state.segments.tolist()):
        parts.append(_gaps(number, parts[0][parts[0][:, 0] == number], end - start))
    tiles = np.concatenate(parts)
    tiles = _joined(tiles[np.lexsort((tiles[:, 1], tiles[:, 0]))])
    address = state.segments[tiles[:, 0], 1] + tiles[:, 1]
    place = _places(np.sort(chunk), state.mapped[:, 2])
    alone = kind[np.argsort(chunk)][place]
    start, end, at = state.mapped.T
    mapped = np.stack([np.full(len(at), MAPPED), at - start, end - at, alone], axis=1)
    address, tiles = np.concatenate([address, at]), np.concatenate([tiles, mapped])
    order = np.argsort(address, kind="stable")
    return address[order], tiles[order]


def _gaps(number: int, blocks: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the parts of a segment outside its chunks: the arena's record, and waste."""
    blocks = blocks[np.argsort(blocks[:, 1])]
    begins = np.append(blocks[:, 1], size)
    ends = np.insert(blocks[:, 1] + blocks[:, 2], 0, 0)
    there = np.flatnonzero(begins > ends)
    kind = np.where(ends[there] == 0, TABLE, WASTE)
    width = begins[there] - ends[there]
    return np.stack([np.full(len(there), number), ends[there], width, kind], axis=1)


def _joined(tiles: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ordered blocks with adjacent waste blocks joined."""
    waste = tiles[:, 3] == WASTE
    follows = np.zeros(len(tiles), np.bool_)
    follows[1:] = waste[1:] & waste[:-1] & (tiles[1:, 0] == tiles[:-1, 0])
    first = np.flatnonzero(~follows)
    joined = tiles[first]
    joined[:, 2] = np.add.reduceat(tiles[:, 2], first)
    return joined


def _in_segments(
    state: HeapState, address: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the segment of each address, or -1, and the offset in it."""
    order = np.argsort(state.segments[:, 1])
    start, end = state.segments[order, 1], state.segments[order, 2]
    place = np.searchsorted(start, address, side="right") - 1
    inside = (place >= 0) & (address < end[place])
    segment = np.where(inside, order[place], -1)
    return segment, np.where(inside, address - start[place], 0)


def _places(ordered: NDArray[np.int64], address: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of addresses in an ordered array; -1 for a missing address."""
    place = np.minimum(np.searchsorted(ordered, address), len(ordered) - 1)
    return np.where(ordered[place] == address, place, -1)


def _without_lost(block: NDArray[np.int64], entry: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the blocks; cached blocks in no list, which a fork lost, are marked TABLE."""
    lost = block[:, 3] == CACHED
    lost[entry[:, 2]] = False
    changed = block.copy()
    changed[lost, 3] = TABLE
    return changed


def _resident(state: HeapState, address: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the runs of resident bytes, each relative to its segment or mapped block."""
    segment, offset = _in_segments(state, state.resident[:, 0])
    length = state.resident[:, 1] - state.resident[:, 0]
    start, _, chunk = state.mapped[np.argsort(state.mapped[:, 0])].T
    place = np.searchsorted(start, state.resident[:, 0], side="right") - 1
    inside = segment >= 0
    block = np.full(len(segment), -1)
    if len(start):
        block = np.where(inside, -1, _places(address, chunk)[place])
        offset = np.where(inside, offset, state.resident[:, 0] - start[place])
    return np.stack([block, segment, offset, offset + length], axis=1)
