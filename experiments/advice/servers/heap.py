"""The resident bytes of a process's malloc heap, measured from outside by exclusion."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

_PAGE: Final = 4096
_MALLOCS: Final = re.compile(r"/lib(jemalloc|tcmalloc|mimalloc)[^/]*$")
_AREA: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)")
_PRESENT: Final = np.uint64(1 << 63 | 1 << 62)
_OF_FILE: Final = np.uint64(1 << 61)
_ELF: Final = b"\x7fELF\x02\x01"
_TABLE: Final = (("<Q", 32), ("<H", 54), ("<H", 56))
"""Format and offset, in an ELF header, of the program headers' offset, entry size and number."""
_AT_FIXED_ADDRESSES: Final = 2
_LOADED: Final = 1
_MAPPED: Final = 1
_THREAD: Final = 2
_OF_THREAD: Final = 0x900
"""Bytes of glibc's thread data at the end of a thread's stack."""
_MAX_GUARD: Final = 64 << 10
"""Maximum size of a stack's guard in bytes; Java adds some guard pages."""


@dataclass(frozen=True)
class _Area:
    first: int
    end: int
    rights: str
    name: str

    def __contains__(self, address: int) -> bool:
        return self.first <= address < self.end


def heap_bytes(process: int, log: Path) -> int:
    """Return the resident bytes of the heap, which are in private anonymous pages.

    The function excludes stacks, static data after a library's file, and the program's own
    mappings. `log` lists the stacks and the mappings.
    """
    areas = [area for area in _areas(process) if area.name != "[stack]"]
    left_out = [*_own_maps(log, areas), *_static_data(areas), *_stacks(log, areas)]
    total = 0
    with Path(f"/proc/{process}/pagemap").open("rb", buffering=0) as pages:
        for area in areas:
            if area.name not in {"", "[heap]"} or "w" not in area.rights:
                continue
            pages.seek(area.first // _PAGE * 8)
            entries = np.frombuffer(pages.read((area.end - area.first) // _PAGE * 8), np.uint64)
            held = ((entries & _PRESENT) > 0) & ((entries & _OF_FILE) == 0)
            for first, end in left_out:
                low, high = max(first, area.first), min(end, area.end)
                if low < high:
                    held[(low - area.first) // _PAGE : -(-(high - area.first) // _PAGE)] = False
            total += int(held.sum()) * _PAGE
    return total


def _stacks(log: Path, areas: list[_Area]) -> Iterator[tuple[int, int]]:
    """Yield the address ranges of the threads' stacks, and of stacks that glibc keeps for reuse.

    A stack begins after a guard and ends with glibc's data on its thread. The address of these data
    is in the log.
    """
    threads = [thread for kind, thread, *_ in _records(log) if kind == _THREAD]
    for guard, area in pairwise(areas):
        is_guard = guard.rights == "---p" and guard.end - guard.first <= _MAX_GUARD
        if is_guard and guard.end == area.first:
            ends = [_up(thread + _OF_THREAD) for thread in threads if thread in area]
            yield from ((area.first, end) for end in ends)


def _static_data(areas: list[_Area]) -> Iterator[tuple[int, int]]:
    """Yield the address ranges of the data that files declare without contents (`.bss`).

    These data follow a file's last mapping. The kernel may merge them with the next area.
    """
    starts: dict[str, int] = {}
    for area in areas:
        if area.name.startswith("/"):
            starts.setdefault(area.name, area.first)
    for name, start in starts.items():
        with suppress(OSError, struct.error):
            content = Path(name).read_bytes()
            if content.startswith(_ELF):
                yield from _without_contents(content, start)


def _without_contents(content: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges, in whole pages, of an ELF file's segments beyond their file contents."""
    at, width, count = (struct.unpack_from(format_, content, place)[0] for format_, place in _TABLE)
    is_moved = struct.unpack_from("<H", content, 16)[0] != _AT_FIXED_ADDRESSES
    for number in range(count):
        kind, _, _, address, _, in_file, in_memory, _ = struct.unpack_from(
            "<IIQQQQQQ", content, at + number * width
        )
        if kind == _LOADED and in_memory > in_file:
            first = address + (start if is_moved else 0)
            yield _up(first + in_file), _up(first + in_memory)


def _up(address: int) -> int:
    return -(-address // _PAGE) * _PAGE


def _areas(process: int) -> Iterator[_Area]:
    for line in Path(f"/proc/{process}/maps").read_text().splitlines():
        found = _AREA.match(line)
        if found:
            yield _Area(int(found[1], 16), int(found[2], 16), found[3], found[4])


def _own_maps(log: Path, areas: list[_Area]) -> list[tuple[int, int]]:
    """Return the ranges that the program, but not its malloc, has mapped and not unmapped."""
    mallocs = [area for area in areas if _MALLOCS.search(area.name)]
    kept: list[tuple[int, int]] = []
    for kind, address, length, caller in _records(log):
        if kind == _THREAD:
            continue
        end = _up(address + length)
        kept = [part for range_ in kept for part in _without(range_, address, end)]
        if kind == _MAPPED and not any(caller in area for area in mallocs):
            kept.append((address, end))
    return kept


def _records(log: Path) -> Iterator[tuple[int, ...]]:
    return struct.iter_unpack("<4Q", log.read_bytes())


def _without(range_: tuple[int, int], first: int, end: int) -> Iterator[tuple[int, int]]:
    low, high = range_
    if low < min(first, high):
        yield low, min(first, high)
    if max(end, low) < high:
        yield max(end, low), high
