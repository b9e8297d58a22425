"""Creation of a snapshot of a process or a core file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simalloc.plural import counted
from simalloc.process.content import content_of
from simalloc.process.foreign import find_foreign
from simalloc.process.glibc.capture import Capture, capture
from simalloc.process.glibc.chunks import CACHED, MAPPED_ALONE
from simalloc.process.glibc.layouts import HEADER
from simalloc.process.glibc.list_order import Beside, heap_state, read_beside
from simalloc.process.glibc.main_arena import break_end
from simalloc.process.glibc.own_figures import mallinfo
from simalloc.process.glibc.pages import Pins, amounts, pins, resident_bytes
from simalloc.process.glibc.reading import ArenaHeap, Heap
from simalloc.process.glibc.trim import predict_trim
from simalloc.process.live import LiveProcess
from simalloc.process.no_heap import no_heap
from simalloc.process.others import others
from simalloc.process.snapshot import NO_ARENA, Blocks, Keeper, Part, Pauses, Snapshot
from simalloc.process.target import ProcessError, Target

_USABLE_LESS = 8
"""Bytes of a chunk that the program may not use. A separately mapped chunk has 8 more."""


def take_snapshot(target: Target, *, content: bool = False) -> Snapshot:
    """Return a snapshot of the heaps of a process or a core file.

    With `content`, the first words of live blocks are examined, and their kinds are counted. Raises
    `ProcessError` if the memory cannot be read or has no heap of a known allocator.
    """
    with target.limited_time():
        return _taken(target, content=content)


def _taken(target: Target, *, content: bool) -> Snapshot:
    began = time.perf_counter()
    found = capture(target)
    snapshot = captured_snapshot(target, found, read_beside(target, found), content=content)
    pauses = target.pauses if isinstance(target, LiveProcess) else []
    return replace(
        snapshot,
        pauses=Pauses(
            len(pauses),
            max((one.seconds for one in pauses), default=0.0),
            sum(one.seconds for one in pauses),
            sum(one.rounds for one in pauses),
            sum(one.arena_bytes for one in pauses),
            sum(one.waiting for one in pauses),
        ),
        seconds=time.perf_counter() - began,
    )


def captured_snapshot(
    target: Target, found: Capture, beside: Beside | None, *, content: bool = False
) -> Snapshot:
    """Return the snapshot of captured heaps. The target may have changed since the capture.

    `content` and errors are the same as in `take_snapshot`.
    """
    foreign = find_foreign(target, found)
    if not found.heaps and not foreign:
        raise ProcessError(no_heap(target, found))
    parts: list[Part] = []
    keepers: list[Pins] = []
    for heap in found.heaps:
        for arena in heap.arenas:
            name = "main" if arena.main and not parts else str(len(parts))
            part, kept = _part(target, heap, arena, name)
            parts.append(part if target.knows_pages else _without_pages(part))
            keepers += [kept] if kept is not None else []
    if found.heaps:
        parts.append(_mapped_part(found, knows_pages=target.knows_pages))
    figures = mallinfo(found.heaps[0], found.mapped) if len(found.heaps) == 1 else None
    return Snapshot(
        name=target.name,
        command=target.command,
        process=target.process,
        resident=target.resident_bytes,
        threads=len(found.threads),
        parts=parts,
        blocks=blocks_of(found),
        keepers=_keepers(keepers),
        others=others(target, found, foreign),
        foreign=foreign,
        problems=_problems(found),
        content=content_of(target, found) if content else (),
        mallinfo=figures or {},
        state=heap_state(found, beside),
    )


def _part(target: Target, heap: Heap, arena: ArenaHeap, name: str) -> tuple[Part, Pins | None]:
    """Return the bytes of an arena, and the blocks that keep its free memory."""
    walk, state = arena.walk, arena.state
    if walk is None:
        problem = arena.problem or "It could not be read"
        return Part(name, state.system_mem, 0, 0, 0, 0, max_bytes=state.max_system_mem,
                    threads=state.attached, problem=problem), None  # fmt: skip
    falls_from = break_end(target, heap.parameters) if arena.main and state.contiguous else None
    trim = predict_trim(walk, heap.parameters, falls_from)
    kept = pins(walk, trim)
    has = amounts(walk)
    free = [has[one] for one in ("fastbin", "bin", "top")]
    headers = _USABLE_LESS * has["live"].blocks
    part = Part(
        name=name,
        bytes=state.system_mem,
        live=has["live"].bytes - headers,
        live_blocks=has["live"].blocks,
        headers=headers,
        tables=has["own"].bytes + walk.header_bytes,
        tcache=has["tcache"].bytes,
        fastbin=has["fastbin"].bytes,
        bins=has["bin"].bytes,
        top=has["top"].bytes,
        holes=state.system_mem - walk.size_in_pieces,
        threads=state.attached,
        max_bytes=state.max_system_mem,
        resident=sum(one.resident for one in has.values()) + walk.header_bytes,
        live_resident=has["live"].resident,
        cached_resident=has["tcache"].resident,
        free_resident=sum(one.resident for one in free),
        free_absent=sum(one.bytes - one.resident for one in [*free, has["tcache"]]),
        trimmable=trim.resident,
        break_falls=trim.break_falls,
        kept=kept.kept_bytes,
        kept_blocks=kept.kept_blocks,
        released=sum(piece.writable_end - piece.end for piece in walk.pieces),
        problem=arena.problem,
    )
    return part, kept


def _without_pages(part: Part) -> Part:
    """Return a part without the figures that require known page states."""
    return replace(
        part, resident=None, live_resident=None, cached_resident=None, free_resident=None,
        free_absent=None, trimmable=None,
    )  # fmt: skip


def _cached(found: Capture) -> NDArray[np.bool_]:
    """Return a mask of the separately mapped blocks in a thread's cache."""
    chunk = np.array([block.address for block in found.mapped.blocks], np.uint64)
    cached: NDArray[np.bool_] = np.isin(
        chunk, np.concatenate([np.empty(0, np.uint64), *(x.elsewhere for x in found.heaps)])
    )
    return cached


def _mapped_part(found: Capture, *, knows_pages: bool) -> Part:
    blocks = found.mapped.blocks
    cached = _cached(found)
    whole = np.array([block.pages_size for block in blocks], np.int64)
    usable = np.array([block.size - HEADER for block in blocks], np.int64)
    resident = np.array([block.resident for block in blocks], np.int64)
    part = Part(
        name="mapped",
        bytes=int(whole.sum()),
        live=int(usable[~cached].sum()),
        live_blocks=int(np.count_nonzero(~cached)),
        headers=int((whole - usable)[~cached].sum()),
        tables=0,
        tcache=int(whole[cached].sum()),
        max_bytes=max((heap.parameters.max_mapped_bytes for heap in found.heaps), default=0),
        resident=int(resident.sum()),
        live_resident=int(resident[~cached].sum()),
        cached_resident=int(resident[cached].sum()),
        free_resident=0,
        free_absent=int((whole - resident)[cached].sum()),
        trimmable=0,
        kept=0,
    )
    return part if knows_pages else _without_pages(part)


def blocks_of(found: Capture) -> Blocks:
    """Return all blocks as columns."""
    address: list[NDArray[np.uint64]] = []
    usable: list[NDArray[np.int64]] = []
    size: list[NDArray[np.int64]] = []
    state: list[NDArray[np.uint8]] = []
    arena: list[NDArray[np.int32]] = []
    resident: list[NDArray[np.int64]] = []
    number = 0
    for heap in found.heaps:
        for one in heap.arenas:
            if one.walk is not None:
                walk = one.walk
                address.append(walk.address + np.uint64(HEADER))
                size.append(walk.size.astype(np.int64))
                usable.append(size[-1] - _USABLE_LESS)
                state.append(walk.kind)
                arena.append(np.full(len(walk.kind), number, np.int32))
                resident.append(resident_bytes(walk))
            number += 1
    blocks = found.mapped.blocks
    less = found.heaps[0].parameters.chunk_less if found.heaps else 0
    chunk = np.array([block.address for block in blocks], np.uint64)
    address.append(chunk + np.uint64(HEADER))
    size.append(np.array([block.size for block in blocks], np.int64))
    usable.append(size[-1] - (_USABLE_LESS if less else HEADER))
    state.append(np.where(_cached(found), CACHED, MAPPED_ALONE).astype(np.uint8))
    arena.append(np.full(len(blocks), NO_ARENA, np.int32))
    resident.append(np.array([block.resident for block in blocks], np.int64))
    return Blocks(
        np.concatenate(address),
        np.concatenate(usable),
        np.concatenate(size),
        np.concatenate(state),
        np.concatenate(arena),
        np.concatenate(resident),
    )


def _keepers(found: Sequence[Pins]) -> list[Keeper]:
    """Return the blocks that keep free memory in all arenas, by size, the most bytes first."""
    if not found:
        return []
    size = np.concatenate([one.size for one in found])
    each, place = np.unique(size, return_inverse=True)
    blocks = np.bincount(place, np.concatenate([one.blocks for one in found]), len(each))
    kept = np.bincount(place, np.concatenate([one.kept for one in found]), len(each))
    order = np.argsort(-kept, kind="stable")
    return [
        Keeper(int(each[at]) - _USABLE_LESS, int(blocks[at]), round(float(kept[at])))
        for at in order.tolist()
    ]


def _problems(found: Capture) -> list[str]:
    """Return sentences on unreadable and contradictory parts."""
    said = []
    for heap in found.heaps:
        for arena in heap.arenas:
            if arena.problem is not None:
                what = "is not walked" if arena.walk is None else "does not agree"
                said.append(
                    f"The arena at {arena.state.address:#x} ({arena.state.system_mem:,} bytes) "
                    f"{what}: {arena.problem}."
                )
        if heap.stray is not None:
            said.append(
                f"The list of arenas leads to {heap.stray:#x} instead of back to the main arena. "
                "Some arenas may be missing from all figures."
            )
        if heap.slot is None and heap.parameters.cache_count:
            said.append("No thread caches were found: their blocks are counted as live.")
        chunk = np.array([block.address for block in found.mapped.blocks], np.uint64)
        odd = int(np.count_nonzero(~np.isin(heap.elsewhere, chunk)))
        if odd:
            said.append(
                f"{counted(odd, 'block')} in thread caches belong to no arena and to no block "
                "mapped on its own; they are not counted."
            )
    mapped = found.mapped
    if not mapped.agrees:
        said.append(
            f"glibc counts {counted(mapped.counted, 'block')} mapped on their own "
            f"({mapped.counted_bytes:,} bytes); {len(mapped.blocks):,} ({mapped.bytes:,} bytes) "
            "were found."
        )
    return said
