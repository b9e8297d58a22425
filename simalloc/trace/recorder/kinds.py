"""The resident memory of a process by kind: files, stacks, or memory without a name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from simalloc.trace.recorder.mappings import Area

KINDS: Final = ("heap", "anonymous", "stacks", "files", "shared", "other")
"""Kinds of memory.

`heap` is the memory from brk. malloc uses `heap` and a part of `anonymous`. The other part of
`anonymous` was mapped directly by the program, its libraries or its language runtime. `files`
contains code and other mapped files. `shared` is memory that processes share.
"""

_AREA: Final = re.compile(
    r"(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) (?P<rights>\S{4}) \S+ \S+ "
    r"(?P<inode>\d+) *(?P<name>.*)"
)
_RESIDENT: Final = re.compile(r"Rss: +(\d+) kB")
_PAGE: Final = os.sysconf("SC_PAGESIZE")


def smaps(process: int) -> list[str]:
    """Return the lines of the process's file `smaps`, or no lines if it cannot be read."""
    try:
        return Path(f"/proc/{process}/smaps").read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def areas_in(lines: list[str]) -> Iterator[Area]:
    """Yield the areas that belong to no file and have resident memory."""
    start = end = inode = 0
    for line in lines:
        if area := _AREA.fullmatch(line):
            start, end = int(area["start"], 16), int(area["end"], 16)
            inode = 0 if area["rights"].endswith("s") else int(area["inode"])
        elif not inode and (resident := _RESIDENT.match(line)) and int(resident[1]):
            yield Area(start, end, int(resident[1]) << 10)


def kinds_in(lines: list[str]) -> Mapping[str, int]:
    """Return the resident bytes by kind from the lines of a file `smaps`."""
    found = dict.fromkeys(KINDS, 0)
    kind, guard_end = "other", 0
    for line in lines:
        if area := _AREA.fullmatch(line):
            start, end = int(area["start"], 16), int(area["end"], 16)
            kind = _kind(area, follows_guard=start == guard_end)
            is_guard = area["rights"].startswith("---") and end - start == _PAGE
            guard_end = end if is_guard else 0
        elif resident := _RESIDENT.match(line):
            found[kind] += int(resident[1]) << 10
    return found


def _kind(area: re.Match[str], *, follows_guard: bool) -> str:
    name = area["name"]
    if area["rights"].endswith("s"):
        return "shared"
    if int(area["inode"]):
        return "files"
    if name.startswith("[stack"):
        return "stacks"
    if name == "[heap]":
        return "heap"
    if name and not name.startswith("[anon"):
        return "other"
    return "stacks" if follows_guard and area["rights"].startswith("rw") else "anonymous"
