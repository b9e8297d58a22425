"""The memory of one arena: copied, and walked chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process._walker import Memory
from simalloc.process.glibc.chunks import (
    BINNED,
    FAST,
    LIVE,
    OWN,
    TOP,
    Chunks,
    WalkError,
    follow,
    places_of,
    ring,
    walk,
)
from simalloc.process.glibc.layouts import (
    BINS,
    FENCE,
    FLAGS,
    HEADER,
    HEAP_BYTES,
    OTHER_ARENA,
    PREVIOUS_IN_USE,
    SMALLEST,
    Parameters,
)
from simalloc.process.glibc.state import State, read_state
from simalloc.process.mappings import PAGE
from simalloc.process.region import Region, memory_of, up
from simalloc.process.target import Target

_HEAP_INFO: Final = 32
_MAX_FENCES: Final = 3


@dataclass(frozen=True)
class Piece:
    """A contiguous part of an arena: chunks from `first` on, then the top chunk or fences."""

    start: int
    """Start of the piece's memory. Up to `first`, a heap contains the arena's own words."""
    first: int
    last: int
    """The top chunk or the last fence. Another fence may precede it directly."""
    end: int
    holds_top: bool
    writable_end: int
    """End of the memory that the piece once had. Memory from `end` on was returned."""


@dataclass(frozen=True, eq=False)
class ArenaCopy:
    """A copy of an arena's memory."""

    state: State
    regions: Sequence[Region]
    pieces: Sequence[Piece]
    steady: bool
    """True if the arena's words were equal before and after the copy and its lock was free."""
    holes: int = 0
    """Bytes that the arena counts as its own although another caller of `sbrk` received them."""


@dataclass(frozen=True, eq=False)
class Walk:
    """The chunks of an arena, including the top chunk and the fences.

    They are ordered within a piece.
    """

    state: State
    pieces: Sequence[Piece]
    regions: Sequence[Region]
    address: NDArray[np.uint64]
    size: NDArray[np.uint64]
    """Sizes in bytes, headers included."""
    kind: NDArray[np.uint8]
    """The state of each chunk, such as `LIVE`."""
    top_size: int
    holes: int
    memory: Memory = field(repr=False)
    order: NDArray[np.int64] = field(repr=False)
    """Order of the chunks by address over all pieces."""

    @property
    def header_bytes(self) -> int:
        """Bytes of the arena's own words."""
        return sum(piece.first - piece.start for piece in self.pieces)

    @property
    def size_in_pieces(self) -> int:
        """Bytes of all pieces."""
        return sum(piece.end - piece.start for piece in self.pieces)

    def contains(self, address: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return a mask of the addresses in the arena's memory."""
        found = np.zeros(len(address), np.bool_)
        for piece in self.pieces:
            found |= (address >= piece.start) & (address < piece.writable_end)
        return found

    def place(self, wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the indices of chunks by address, or -1 for an address outside the arena."""
        place = places_of(self.address[self.order], wanted)
        if not len(self.order):
            return place
        return np.where(place >= 0, self.order[place], -1)


def copy_heaps(
    target: Target, state: State, parameters: Parameters, old: ArenaCopy | None = None
) -> ArenaCopy:
    """Return a copy of an arena that consists of heaps. Raises `WalkError` if it has no heaps."""
    before = read_state(target, state.address, state.layout)
    regions, pieces = [], []
    grain = 4 * parameters.heap_page if parameters.heap_page and not parameters.chunk_less else 0
    grain = max(grain, HEAP_BYTES)
    base, end = before.top & -grain, 0
    used = {region.start: region for region in old.regions} if old else {}
    seen: set[int] = set()
    while True:
        owner, previous, size, writable = _heap_info(target, base)
        if owner != state.address or not 0 < size <= grain or size % PAGE or writable > grain:
            raise WalkError("A heap does not belong to its arena", base)
        if base % grain or base in seen:
            raise WalkError("The heaps of an arena have no end", base)
        region = target.region(base, base + size, used.get(base))
        regions.append(region)
        holds_state = base < state.address < base + size
        first = state.address + state.layout.size if holds_state else base + state.address % 64
        end = base + size
        last = end - FENCE if seen else before.top
        pieces.append(Piece(base, up(first, 16), last, end, not seen, base + max(size, writable)))
        seen.add(base)
        if holds_state or previous == 0:
            break
        base = previous
    if not base < state.address < base + grain:
        raise WalkError("The heaps of an arena are not linked to it", state.address)
    after = read_state(target, state.address, state.layout)
    content = regions[-1].bytes_at(state.address, state.layout.size)
    steady = before.content == after.content == content and after.mutex == 0
    return ArenaCopy(State(state.address, state.layout, content), regions, pieces[::-1], steady)


def _heap_info(target: Target, base: int) -> tuple[int, int, int, int]:
    """Return a heap's arena, the previous heap, its size, and the size that was ever writable."""
    content = target.bytes_at(base, _HEAP_INFO)
    owner, previous, size, writable = (
        int.from_bytes(content[at : at + 8], "little") for at in range(0, _HEAP_INFO, 8)
    )
    return owner, previous, size, writable


def walk_arena(copy: ArenaCopy, *, main: bool, masked: bool) -> Walk:
    """Return the chunks of an arena. Raises `WalkError` if they are inconsistent.

    Chunks in a thread's cache are reported as live. `masked` states how the links of fast lists are
    stored.
    """
    state = copy.state
    memory = memory_of([*copy.regions, *_own_words(copy)])
    parts, ends, kinds = [], [], []
    top_size = 0
    for piece in copy.pieces:
        chunks, end_word, fences = _walk_piece(memory, piece)
        kind = np.full(len(chunks), LIVE, np.uint8)
        free = _free(chunks, end_word)
        kind[free] = BINNED
        _check_free(memory, chunks, free)
        if piece.holds_top:
            top_size = int(fences.size[0])
            kind = np.append(kind, np.uint8(TOP))
        else:
            kind = np.append(kind, np.full(len(fences), OWN, np.uint8))
            if not main:
                _mark_rest(chunks, kind, piece)
        parts += [chunks, fences]
        kinds.append(kind)
        ends.append(end_word)
    chunks = Chunks.of(parts)
    kind = np.concatenate(kinds)
    order = np.argsort(chunks.address, kind="stable")
    found = Walk(
        state, copy.pieces, copy.regions, chunks.address, chunks.size, kind, top_size,
        copy.holes, memory, order,
    )  # fmt: skip
    _check_bins(found)
    _mark_fast(found, masked=masked)
    _check_sum(found)
    return found


def _own_words(copy: ArenaCopy) -> list[Region]:
    """Return the arena's own words as a region, unless one of its heaps contains them."""
    state = copy.state
    if any(region.start <= state.address < region.end for region in copy.regions):
        return []
    data = np.frombuffer(state.content, np.uint8)
    return [Region(state.address, data, np.ones(1, np.uint8))]


def _walk_piece(memory: Memory, piece: Piece) -> tuple[Chunks, int, Chunks]:
    """Return the chunks of a piece, the size word after them, and its top chunk or fences."""
    chunks, end = walk(memory, piece.first, piece.last)
    most = 1 if piece.holds_top else _MAX_FENCES
    allowed = {piece.last - FENCE * before for before in range(most)}
    if end not in allowed:
        raise WalkError("A piece of an arena ends early", end)
    if piece.holds_top:
        (word,) = _words(memory, [end + 8])
        top = word & ~FLAGS
        if end + top != piece.end or top < FENCE or not word & PREVIOUS_IN_USE:
            raise WalkError("The top chunk does not end where the arena does", end)
        return chunks, word, _one(end, word)
    places = list(range(end, piece.end, FENCE))
    words = _words(memory, [at + 8 for at in places])
    if any(word & ~FLAGS not in {0, FENCE} for word in words):
        raise WalkError("A piece of an arena does not end in fences", end)
    fences = Chunks(
        np.array(places, np.uint64),
        np.full(len(places), FENCE, np.uint64),
    )
    return chunks, words[0], fences


def _mark_rest(chunks: Chunks, kind: NDArray[np.uint8], piece: Piece) -> None:
    """Mark the chunk that closes a full heap if it is longer than a fence.

    This chunk is in use. Unlike the blocks of a heap, it lacks the flag of an arena other than the
    main arena.
    """
    if len(chunks) and int(chunks.address[-1]) + SMALLEST == piece.end - FENCE:
        in_use = kind[len(chunks) - 1] == LIVE
        if in_use and not int(chunks.word[-1]) & OTHER_ARENA:
            kind[len(chunks) - 1] = OWN


def _one(address: int, word: int) -> Chunks:
    return Chunks(np.array([address], np.uint64), np.array([word], np.uint64))


def _words(memory: Memory, addresses: Sequence[int]) -> list[int]:
    """Return words. Raises `WalkError` if one is not in memory."""
    words = np.empty(len(addresses), np.uint64)
    if memory.words(np.array(addresses, np.uint64), words):
        raise WalkError("A word is not in the arena's memory", addresses[0])
    found: list[int] = words.tolist()
    return found


def _free(chunks: Chunks, end_word: int) -> NDArray[np.bool_]:
    """Return a mask of the free chunks, which the size word of the next chunk identifies."""
    following = np.append(chunks.word[1:], np.uint64(end_word))[: len(chunks)]
    free: NDArray[np.bool_] = (following & np.uint64(PREVIOUS_IN_USE)) == 0
    return free


def _check_free(memory: Memory, chunks: Chunks, free: NDArray[np.bool_]) -> None:
    """Check that each free chunk repeats its size at its end, and that no two are adjacent."""
    address, size = chunks.address[free], chunks.size[free]
    repeated = np.empty(len(address), np.uint64)
    memory.words(address + size, repeated)
    wrong = np.flatnonzero(repeated != size)
    if len(wrong):
        raise WalkError("A free chunk does not repeat its size", int(address[wrong[0]]))


def _check_bins(found: Walk) -> None:
    """Check that every free chunk is in exactly one bin."""
    free = np.sort(found.address[found.kind == BINNED])
    item = np.empty(len(free) + 1, np.uint64)
    count = 0
    for number in range(1, BINS + 1):
        head = found.state.layout.head(found.state.address, number)
        here = ring(found.memory, head, item[count:])
        count += here
    listed = np.sort(item[:count])
    if len(listed) != len(free) or (listed != free).any():
        both = np.setxor1d(listed, free)
        at = int(both[0]) if len(both) else int(listed[0])
        raise WalkError("A free chunk is in no bin, is in two bins, or is not free", at)


def _mark_fast(found: Walk, *, masked: bool) -> None:
    """Mark the chunks in the fast lists. Raises `WalkError` if a chunk does not fit its list."""
    for number, head in enumerate(found.state.fast_heads):
        if head == 0:
            continue
        chunks = follow(found.memory, head, HEADER, len(found.address), masked=masked)
        place = found.place(chunks)
        size = SMALLEST + 16 * number
        right = (place >= 0) & (found.size[place] == size) & (found.kind[place] == LIVE)
        if not right.all():
            raise WalkError("A fast list contains a chunk that is free or has another size", head)
        found.kind[place] = FAST


def _check_sum(found: Walk) -> None:
    missing = found.state.system_mem - found.size_in_pieces
    if not 0 <= missing <= found.holes:
        more = "fewer" if missing > 0 else "more"
        what = f"The pieces of an arena have {abs(missing):,} bytes {more} than it counts,"
        raise WalkError(what, found.state.address)
