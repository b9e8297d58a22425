"""Copies the memory of a main arena, whose pieces may be anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from simalloc.process import _walker
from simalloc.process.glibc.arena import ArenaCopy, Piece
from simalloc.process.glibc.chunks import WalkError
from simalloc.process.glibc.layouts import FENCE, FLAGS, HEADER, Parameters
from simalloc.process.glibc.state import State, read_state
from simalloc.process.mappings import PAGE, Mapping, containing, joined
from simalloc.process.region import ABSENT, Region, down, up
from simalloc.process.target import Target

_SECOND_FENCE: Final = 0x11
_FIRST_FENCE: Final = (0x10, 0x11)
_MOST_STARTS: Final = 16
_MOST_CHOICES: Final = 20_000
_MOST_STEPS: Final = 1000


def copy_main(
    target: Target, state: State, parameters: Parameters, old: ArenaCopy | None = None
) -> ArenaCopy:
    """Return a copy of a main arena; raises `WalkError` if its pieces cannot be found."""
    before = read_state(target, state.address, state.layout)
    used = {region.start: region for region in old.regions} if old else {}
    start, end = parameters.sbrk_base, before.top + _size_at(target, before.top)
    region = None
    if start <= before.top and end - start == before.system_mem:
        region = target.region(start, end, used.get(down(start)))
    if region is not None and not _fences_in(region):
        regions, pieces, holes = [region], [_top_piece(start, before.top, end)], 0
    else:
        regions, pieces, holes = _several(target, before, parameters)
    after = read_state(target, state.address, state.layout)
    steady = before.content == after.content and after.mutex == 0
    return ArenaCopy(after, regions, pieces, steady, holes)


def break_end(target: Target, parameters: Parameters) -> int | None:
    """Return where the process's break is; None if the arena is not below it."""
    heap = _run_of_break(joined(target.mappings()), parameters.sbrk_base)
    return None if heap is None else heap.end


def _run_of_break(runs: Sequence[Mapping], sbrk_base: int) -> Mapping | None:
    """Return the mapping that grows by `sbrk`: in a core file, the one of the first chunk."""
    here = containing(runs, sbrk_base)
    if here is None or (here.name and here.name != "[heap]"):
        return next((run for run in runs if run.end == sbrk_base), here)
    return here


def _top_piece(start: int, top: int, end: int) -> Piece:
    return Piece(start, up(start, HEADER), top, end, holds_top=True, writable_end=end)


def _size_at(target: Target, chunk: int) -> int:
    word = int.from_bytes(target.bytes_at(chunk + 8, 8), "little")
    return word & ~FLAGS


@dataclass(frozen=True)
class _Candidate:
    """A piece that may be the arena's: its end, and where it may begin, the likeliest first."""

    starts: tuple[int, ...]
    last: int
    end: int
    holds_top: bool

    def piece(self, start: int) -> Piece:
        return Piece(start, up(start, HEADER), self.last, self.end, self.holds_top, self.end)


def _fences_in(region: Region) -> bool:
    """Whether some page of a region ends as a piece of an arena does."""
    ends = region.words.reshape(-1, PAGE // 8)[:, [-3, -1]]
    found = (ends[:, 1] == _SECOND_FENCE) & np.isin(ends[:, 0], np.array(_FIRST_FENCE, np.uint64))
    return bool(found.any())


def _several(
    target: Target, state: State, parameters: Parameters
) -> tuple[list[Region], list[Piece], int]:
    """Return the regions and pieces of an arena of several pieces, and the bytes of its holes."""
    runs = target.busy_runs()
    heap = _run_of_break(runs, parameters.sbrk_base)
    top_end = state.top + _size_at(target, state.top)
    if containing(runs, state.top) is None:
        raise WalkError("The top chunk of a main arena is not in memory", state.top)
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
        candidates += _candidates(region, base, ends, (state.top, top_end) if holds_top else None,
                                  in_heap=in_heap, sbrk_base=parameters.sbrk_base)  # fmt: skip
    mine = [one for one in candidates if one.holds_top or _owner(regions, one, state)]
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
    """Return the ends of pages at which two fences are."""
    present = np.flatnonzero(target.pages(run.start, run.end) != ABSENT).astype(np.uint64)
    ends = np.uint64(run.start) + np.uint64(PAGE) * (present + np.uint64(1))
    second = target.words(ends - np.uint64(8))
    ends = ends[second == _SECOND_FENCE]
    first = target.words(ends - np.uint64(24))
    found: list[int] = ends[np.isin(first, np.array(_FIRST_FENCE, np.uint64))].tolist()
    return found


def _candidates(
    region: Region,
    base: int,
    ends: Sequence[int],
    top: tuple[int, int] | None,
    *,
    in_heap: bool,
    sbrk_base: int,
) -> Iterator[_Candidate]:
    """Yield the pieces that end in fences or in the top, each behind the one before it."""
    anchors = sorted(
        [(end - 2 * FENCE, end, False) for end in ends] + ([(*top, True)] if top else [])
    )
    for last, end, holds_top in anchors:
        if last < base:
            continue
        starts = _starts(region, base, last, PAGE if not in_heap else HEADER)
        if in_heap and base == sbrk_base and up(base, HEADER) in starts[:1]:
            starts = (sbrk_base, *starts[1:])
        elif not starts and in_heap and last == up(base, HEADER):
            starts = (base,)
        if starts:
            yield _Candidate(starts, last if holds_top else end - FENCE, end, holds_top)
            base = end


def _starts(region: Region, base: int, last: int, step: int) -> tuple[int, ...]:
    """Return from where a chain of chunks reaches `last`, the lowest first."""
    base = up(base, HEADER)
    found = np.empty(_MOST_STARTS, np.uint64)
    if last == base:
        return (base,)
    count = _walker.starts(region.data[base - region.start :], base, last, step, found)
    if step == PAGE and count == 0 and last % PAGE == 0:
        return (last,)
    return tuple(found[:count].tolist())


def _owner(regions: Sequence[Region], one: _Candidate, state: State) -> bool:
    """Whether a piece may be of this arena: no bin of its free chunks is another arena's."""
    region = next(r for r in regions if r.start < one.end <= r.end)
    at = one.starts[0] + (-one.starts[0]) % HEADER
    steps = 0
    while at < one.last and steps < _MOST_STEPS:
        size = _word(region, at + 8) & ~FLAGS
        if size < FENCE or at + size >= one.last:
            break
        if not _word(region, at + size + 8) & 1:  # this chunk is free
            return _leads_to(regions, at, state)
        at += size
        steps += 1
    return True


def _leads_to(regions: Sequence[Region], chunk: int, state: State) -> bool:
    """Whether the bin of a free chunk is in an arena, as far as it can be followed."""
    for _ in range(_MOST_STEPS):
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
    """Return the pieces whose bytes are what the arena counts, or less by at most `allowed`.

    The piece with the top is always one; of the others, and of their starts, the first choice is
    all, from the lowest address on.
    """
    tops = [one for one in candidates if one.holds_top]
    others = [one for one in candidates if not one.holds_top]
    choices = 0

    def search(number: int, chosen: list[Piece], left: int) -> list[Piece] | None:
        nonlocal choices
        choices += 1
        if left < 0 or choices > _MOST_CHOICES:
            return None
        if number == len(others):
            return chosen if left <= allowed else None
        one = others[number]
        for start in one.starts:
            found = search(number + 1, [*chosen, one.piece(start)], left - (one.end - start))
            if found is not None:
                return found
        return search(number + 1, chosen, left)

    for top in tops:
        for start in top.starts:
            found = search(0, [top.piece(start)], wanted - (top.end - start))
            if found is not None:
                return found
    what = f"No pieces of memory have the {wanted:,} bytes that an arena counts,"
    raise WalkError(what, tops[0].last if tops else 0)
