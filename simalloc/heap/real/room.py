"""How much memory is free: for processes that are about to write to as much as a trace has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_KEPT_FREE: Final = 0.1
"""The share of what is free that is left to the rest of the machine."""


def room() -> int | None:
    """Return the bytes that a new process may make resident; None where the system does not tell.

    That is nine tenths of what the kernel says is available, or that the control groups of this
    process leave, whichever is less (MemAvailable of proc(5); memory.max and memory.current of
    the kernel's cgroup-v2 documentation).
    """
    free = [size for size in (_available(), *_left_in_groups()) if size is not None]
    return int(min(free) * (1 - _KEPT_FREE)) if free else None


def _available() -> int | None:
    found = re.search(r"^MemAvailable:\s*(\d+) kB", _text(Path("/proc/meminfo")), re.MULTILINE)
    return None if found is None else int(found[1]) * 1024


def _left_in_groups() -> list[int]:
    """Return what each control group with a limit, from this process's own up, has left."""
    found = re.search(r"^0::/(.*)$", _text(Path("/proc/self/cgroup")), re.MULTILINE)
    if found is None:
        return []
    top = Path("/sys/fs/cgroup")
    group = top / found[1]
    left = []
    for folder in (group, *group.parents):
        most, used = _text(folder / "memory.max"), _text(folder / "memory.current")
        if most.strip().isdecimal() and used.strip().isdecimal():
            # Pages of files that nobody has used for long go when memory is asked for.
            cached = re.search(
                r"^inactive_file (\d+)$", _text(folder / "memory.stat"), re.MULTILINE
            )
            left.append(max(0, int(most) - int(used) + (int(cached[1]) if cached else 0)))
        if folder == top:
            break
    return left


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""
