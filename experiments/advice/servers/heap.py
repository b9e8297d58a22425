"""The resident bytes of a process's malloc heap, from outside: pages that nothing else explains."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

_PAGE: Final = 4096
_MALLOCS: Final = re.compile(r"/lib(jemalloc|tcmalloc|mimalloc)[^/]*$")
_AREA: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)")
_PRESENT: Final = np.uint64(1 << 63 | 1 << 62)
_OF_FILE: Final = np.uint64(1 << 61)


@dataclass(frozen=True)
class _Area:
    first: int
    end: int
    rights: str
    name: str


def heap_bytes(process: int, log: Path) -> int:
    """Return the bytes of the heap: of private pages of no file that are resident.

    Left out are stacks, the static data behind a library's file, and what the program has mapped by
    itself, which `log` has.
    """
    areas = list(_areas(process))
    stacks = set(_stack_pointers(process))
    own = _own_maps(log, areas)
    total = 0
    with Path(f"/proc/{process}/pagemap").open("rb", buffering=0) as pages:
        for before, area in zip([None, *areas], areas, strict=False):
            if _is_left_out(area, before, stacks):
                continue
            pages.seek(area.first // _PAGE * 8)
            told = np.frombuffer(pages.read((area.end - area.first) // _PAGE * 8), np.uint64)
            held = ((told & _PRESENT) > 0) & ((told & _OF_FILE) == 0)
            for first, end in own:
                low, high = max(first, area.first), min(end, area.end)
                if low < high:
                    held[(low - area.first) // _PAGE : -(-(high - area.first) // _PAGE)] = False
            total += int(held.sum()) * _PAGE
    return total


def _is_left_out(area: _Area, before: _Area | None, stacks: set[int]) -> bool:
    if area.name not in {"", "[heap]"} or "w" not in area.rights:
        return True
    is_static = before is not None and before.end == area.first and before.name.startswith("/")
    return is_static or any(area.first <= pointer < area.end for pointer in stacks)


def _areas(process: int) -> Iterator[_Area]:
    for line in Path(f"/proc/{process}/maps").read_text().splitlines():
        found = _AREA.match(line)
        if found:
            yield _Area(int(found[1], 16), int(found[2], 16), found[3], found[4])


def _stack_pointers(process: int) -> Iterator[int]:
    """Yield where the stacks of a process's threads are."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        with suppress(OSError, ValueError, IndexError):
            yield int((thread / "syscall").read_text().split()[-2], 16)


def _own_maps(log: Path, areas: list[_Area]) -> list[tuple[int, int]]:
    """Return the ranges that the program has mapped and not unmapped, but for a malloc's."""
    kept: list[tuple[int, int]] = []
    for mapped, address, length, caller in struct.iter_unpack("<4Q", log.read_bytes()):
        end = address + -(-length // _PAGE) * _PAGE
        kept = [part for range_ in kept for part in _without(range_, address, end)]
        if mapped and not any(
            area.first <= caller < area.end and _MALLOCS.search(area.name) for area in areas
        ):
            kept.append((address, end))
    return kept


def _without(range_: tuple[int, int], first: int, end: int) -> Iterator[tuple[int, int]]:
    low, high = range_
    if low < min(first, high):
        yield low, min(first, high)
    if max(end, low) < high:
        yield max(end, low), high
