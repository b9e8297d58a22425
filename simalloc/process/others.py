"""Memory of a process outside glibc's heaps, by kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simalloc.process.foreign import Foreign
from simalloc.process.glibc.capture import Capture
from simalloc.process.glibc.layouts import HEAP_BYTES
from simalloc.process.mappings import Mapping
from simalloc.process.snapshot import Other
from simalloc.process.target import Target

FILES: Final = "files and shared libraries"
STACKS: Final = "thread stacks"
SHARED: Final = "shared memory"
OWN: Final = "mappings of the program itself"
RESERVED: Final = "address space kept for arenas"


def others(target: Target, found: Capture, foreign: Sequence[Foreign]) -> list[Other]:
    """Return the process's mappings outside all heaps, by kind, the largest first."""
    taken = _taken(found)
    heaps = [arena.state.address for heap in found.heaps for arena in heap.arenas if not arena.main]
    pointers = [one.pointer for one in found.threads if one.pointer is not None]
    sums: dict[str, list[int]] = {}
    for mapping, resident in target.residents(found.mappings):
        size, there = mapping.size, resident
        if mapping.anonymous:
            inside = [one for one in taken if one[0] < mapping.end and one[1] > mapping.start]
            size -= sum(
                min(end, mapping.end) - max(start, mapping.start) for start, end, _ in inside
            )
            there = max(0, there - sum(part for _, _, part in inside))
        near = any(start // HEAP_BYTES == mapping.start // HEAP_BYTES for start in heaps)
        kind = RESERVED if near and mapping.anonymous and not there else _kind(mapping, pointers)
        total = sums.setdefault(kind, [0, 0])
        total[0] += size
        total[1] += there
    if OWN in sums:  # the program's own mappings contain the heaps of other allocators
        for heap in foreign:
            sums[OWN][0] = max(0, sums[OWN][0] - heap.bytes)
            sums[OWN][1] = max(0, sums[OWN][1] - (heap.resident or 0))
    made = [
        Other(name, size, resident if target.knows_pages else None)
        for name, (size, resident) in sums.items()
        if size
    ]
    return sorted(made, key=lambda one: -(one.resident or one.bytes))


def _kind(mapping: Mapping, pointers: list[int]) -> str:
    if mapping.inode or mapping.name.startswith(("/", "[v")):
        return FILES if mapping.permissions[3] == "p" or "x" in mapping.permissions else SHARED
    if mapping.permissions[3] == "s":
        return SHARED
    if mapping.name.startswith("[stack"):
        return STACKS
    if any(mapping.start <= pointer < mapping.end for pointer in pointers) and mapping.writable:
        return STACKS
    return OWN


def _taken(found: Capture) -> list[tuple[int, int, int]]:
    """Return the ranges of glibc's heaps, with their resident bytes."""
    ranges = []
    for heap in found.heaps:
        for arena in heap.arenas:
            if arena.walk is None:
                continue
            for piece in arena.walk.pieces:
                region = next(
                    one for one in arena.walk.regions if one.start <= piece.first < one.end
                )
                first = (piece.start - region.start) // 4096
                last = -(-(piece.end - region.start) // 4096)
                there = 4096 * int((region.pages[first:last] != 0).sum())
                ranges.append((piece.start, piece.end, there))
    ranges += [
        (block.start, block.start + block.pages_size, block.resident)
        for block in found.mapped.blocks
    ]
    return ranges
