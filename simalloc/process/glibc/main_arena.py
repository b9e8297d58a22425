"""The memory of a main arena, which may consist of several pieces at any addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from simalloc.process import _walker
from simalloc.process.glibc.arena import ArenaCopy, Piece
from simalloc.process.glibc.chunks import WalkError
from simalloc.process.glibc.layouts import FENCE, FLAGS, HEADER, Parameters
from simalloc.process.glibc.state import Libc, State, read_state
from simalloc.process.mappings import PAGE, Mapping, containing, joined
from simalloc.process.region import ABSENT, Region, down, up
from simalloc.process.target import Target

_SECOND_FENCE: Final = 0x11
_FIRST_FENCE: Final = (0x10, 0x11)
_MAX_STARTS: Final = 16
_MAX_CHOICES: Final = 20_000
_MAX_PIECES: Final = 200
"""Maximum number of pieces for which combinations are tried."""
_MAX_STEPS: Final = 1000
_MAPPED_FROM: Final = 0x7000 << 32
"""Lowest address of the kernel's mappings on x86-64."""


def copy_main(
    target: Target,
    state: State,
    parameters: Parameters,
    old: ArenaCopy | None = None,
    others: Sequence[Libc] = (),
) -> ArenaCopy:
    """Return a copy of a main arena. Raises `WalkError` if its pieces cannot be found.

    `others` are other mallocs in the process, whose memory may be directly before a piece.
    """
    before = read_state(target, state.address, state.layout)
    used = {region.start: region for region in old.regions} if old else {}
    start, end = parameters.sbrk_base, _top_end(target, before)
    region = None
    if start <= before.top and end - start == before.system_mem:
        region = target.region(start, end, used.get(down(start)))
    if region is not None and not _fences_in(region):
        regions, pieces, holes = [region], [_top_piece(start, before.top, end)], 0
    else:
        regions, pieces, holes = _several(target, before, parameters, others)
    after = read_state(target, state.address, state.layout)
    steady = before.content == after.content and after.mutex == 0
    return ArenaCopy(after, regions, pieces, steady, holes)


def break_end(target: Target, parameters: Parameters) -> int | None:
    """Return the end of the process's break, or None if the arena is not below it."""
    heap = _run_of_break(joined(target.mappings()), parameters.sbrk_base)
    return None if heap is None else heap.end


def _run_of_break(runs: Sequence[Mapping], sbrk_base: int) -> Mapping | None:
    """Return the mapping that grows by `sbrk`, or None if the arena does not begin in it.

    A libc loaded by `dlmopen` has no such mapping, because it maps all its memory. Core files do
    not name the mapping, but the break is far below the kernel's mappings.
    """
    here = containing(runs, sbrk_base)
    if here is None or (here.name and here.name != "[heap]"):
        here = next((run for run in runs if run.end == sbrk_base), here)
    is_break = here is not None and (here.name == "[heap]" or here.start < _MAPPED_FROM)
    return here if is_break else None


def _top_piece(start: int, top: int, end: int) -> Piece:
    return Piece(start, up(start, HEADER), top, end, holds_top=True, writable_end=end)


def _top_end(target: Target, state: State) -> int:
    """Return the end of an arena's top chunk."""
    word = int.from_bytes(target.bytes_at(state.top + 8, 8), "little")
    return state.top + (word & ~FLAGS)


@dataclass(frozen=True, order=True)
class _Anchor:
    """The end of a piece: fences, the arena's top chunk, or a wall (another arena's top)."""

    last: int
    """End of the piece's chunks."""
    end: int
    what: Literal["fences", "top", "wall"]


@dataclass(frozen=True)
class _Candidate:
    """A possible piece of the arena: its end, and its possible starts, the likeliest first."""

    starts: tuple[int, ...]
    last: int
    end: int
    holds_top: bool

    def piece(self, start: int) -> Piece:
        return Piece(start, up(start, HEADER), self.last, self.end, self.holds_top, self.end)


def _fences_in(region: Region) -> bool:
    """Return whether a page of a region ends with two fences, like a piece of an arena."""
    ends = region.words.reshape(-1, PAGE // 8)[:, [-3, -1]]
    found = (ends[:, 1] == _SECOND_FENCE) & np.isin(ends[:, 0], np.array(_FIRST_FENCE, np.uint64))
    return bool(found.any())


def _several(
    target: Target, state: State, parameters: Parameters, others: Sequence[Libc]
) -> tuple[list[Region], list[Piece], int]:
    """Return the regions and pieces of an arena with several pieces, and its bytes of holes."""
    runs = target.busy_runs()
    heap = _run_of_break(runs, parameters.sbrk_base)
    top_end = _top_end(target, state)
    if containing(runs, state.top) is None:
        raise WalkError("The top chunk of a main arena is not in memory", state.top)
    walls = [_top_end(target, read_state(target, one.arena, one.layout)) for one in others]
    regions: list[Region] = []
    candidates: list[_Candidate] = []
    for run in runs:
        ends = _fenced_ends(target, run)
        holds_top = run.start <= state.top < run.end and top_end <= run.end
        if not ends and not holds_top:
            continue
        last = max([*ends, top_end if holds_top else 0])
        region = target.region(run.start, last)
        regions.append(region)
        in_heap = heap is not None and run.start == heap.start
        base = parameters.sbrk_base if in_heap else run.start
        anchors = [_Anchor(end - 2 * FENCE, end, "fences") for end in ends]
        anchors += [_Anchor(state.top, top_end, "top")] if holds_top else []
        anchors += [_Anchor(end, end, "wall") for end in walls if run.start < end <= last]
        candidates += _candidates(target, region, base, anchors, in_heap=in_heap)
    mine = [one for one in candidates if one.holds_top or _owner(target, regions, one, state)]
    inside = [one for one in mine if heap is not None and heap.start < one.end <= heap.end]
    allowed = (
        max(one.end for one in inside)
        - parameters.sbrk_base
        - sum(one.end - one.starts[0] for one in inside)
        if inside
        else 0
    )
    pieces = _choose(mine, state.system_mem, allowed)
    holes = state.system_mem - sum(piece.end - piece.start for piece in pieces)
    needed = [
        region
        for region in regions
        if any(region.start <= piece.first < region.end for piece in pieces)
    ]
    return needed, sorted(pieces, key=lambda piece: piece.start), holes


def _fenced_ends(target: Target, run: Mapping) -> list[int]:
    """Return the ends of pages that end with two fences."""
    present = np.flatnonzero(target.pages(run.start, run.end) != ABSENT).astype(np.uint64)
    ends = np.uint64(run.start) + np.uint64(PAGE) * (present + np.uint64(1))
    second = target.words(ends - np.uint64(8))
    ends = ends[second == _SECOND_FENCE]
    first = target.words(ends - np.uint64(24))
    found: list[int] = ends[np.isin(first, np.array(_FIRST_FENCE, np.uint64))].tolist()
    return found


def _candidates(
    target: Target, region: Region, base: int, anchors: Sequence[_Anchor], *, in_heap: bool
) -> Iterator[_Candidate]:
    """Yield the possible pieces that end at anchors, in order of address.

    `base` is the lowest possible start of the region's first piece. With `sbrk`, the first piece
    begins there.
    """
    step, first = (HEADER if in_heap else PAGE), base
    for anchor in sorted(anchors):
        target.check_time()
        if anchor.last < base:
            continue
        if anchor.what == "wall":
            base = anchor.end
            continue
        starts = _starts(region, base, anchor.last, step)
        if not starts and anchor.what == "fences":
            # If this succeeds, the remainder had 16 bytes.
            is_fence = _word(region, anchor.last - 8) in _FIRST_FENCE
            starts = _starts(region, base, anchor.last - FENCE, step) if is_fence else ()
        if in_heap and base == first and up(base, HEADER) in starts[:1]:
            starts = (base, *starts[1:])
        if starts:
            last = anchor.last if anchor.what == "top" else anchor.end - FENCE
            yield _Candidate(starts, last, anchor.end, anchor.what == "top")
            base = anchor.end


def _starts(region: Region, base: int, last: int, step: int) -> tuple[int, ...]:
    """Return the addresses from which a chain of chunks reaches `last`, the lowest first."""
    base = up(base, HEADER)
    found = np.empty(_MAX_STARTS, np.uint64)
    if last == base:
        return (base,)
    count = _walker.starts(region.data[base - region.start :], base, last, step, found)
    if step == PAGE and count == 0 and last % PAGE == 0:
        return (last,)
    return tuple(found[:count].tolist())


def _owner(target: Target, regions: Sequence[Region], one: _Candidate, state: State) -> bool:
    """Return whether a piece may belong to this arena, judged by its first free chunk's bin."""
    target.check_time()
    region = next(r for r in regions if r.start < one.end <= r.end)
    at = one.starts[0] + (-one.starts[0]) % HEADER
    steps = 0
    while at < one.last and steps < _MAX_STEPS:
        size = _word(region, at + 8) & ~FLAGS
        if size < FENCE or at + size >= one.last:
            break
        if not _word(region, at + size + 8) & 1:  # this chunk is free
            return _leads_to(regions, at, state)
        at += size
        steps += 1
    return True


def _leads_to(regions: Sequence[Region], chunk: int, state: State) -> bool:
    """Return whether a free chunk's bin is in an arena, as far as its links can be followed."""
    for _ in range(_MAX_STEPS):
        if state.address <= chunk < state.address + state.layout.size:
            return True
        region = next((r for r in regions if r.start <= chunk < r.end), None)
        if region is None:
            return False
        chunk = _word(region, chunk + HEADER)
    return True


def _word(region: Region, address: int) -> int:
    return int.from_bytes(region.bytes_at(address, 8), "little")


def _choose(candidates: Sequence[_Candidate], wanted: int, allowed: int) -> list[Piece]:
    """Return pieces whose total is `wanted` bytes, or at most `allowed` bytes less.

    The piece with the top chunk is always chosen. The first choice is all other pieces with their
    lowest starts.
    """
    tops = [one for one in candidates if one.holds_top]
    left = wanted - sum(one.end - one.starts[0] for one in candidates)
    if len(tops) == 1 and 0 <= left <= allowed:
        return [one.piece(one.starts[0]) for one in candidates]
    others = [one for one in candidates if not one.holds_top]
    for top in tops if len(others) <= _MAX_PIECES else ():
        for start in top.starts:
            search = _Search(others, allowed)
            found = search.run(0, [top.piece(start)], wanted - (top.end - start))
            if found is not None:
                return found
    what = f"No pieces of memory have the {wanted:,} bytes that an arena counts,"
    raise WalkError(what, tops[0].last if tops else 0)


class _Search:
    """Search for pieces with the required total of bytes."""

    def __init__(self, others: Sequence[_Candidate], allowed: int) -> None:
        self._others = others
        self._allowed = allowed
        sizes = [one.end - one.starts[0] for one in reversed(others)]
        self._max: list[int] = np.cumsum([0, *sizes])[::-1].tolist()
        """Bytes of all pieces from each piece on."""
        self._tries = 0

    def run(self, number: int, chosen: list[Piece], left: int) -> list[Piece] | None:
        """Return the chosen pieces and further pieces with `left` bytes in total, or None."""
        self._tries += 1
        too_few = left - self._max[number] > self._allowed
        if left < 0 or too_few or self._tries > _MAX_CHOICES:
            return None
        if number == len(self._others):
            return chosen
        one = self._others[number]
        for start in one.starts:
            found = self.run(number + 1, [*chosen, one.piece(start)], left - (one.end - start))
            if found is not None:
                return found
        return self.run(number + 1, chosen, left)
