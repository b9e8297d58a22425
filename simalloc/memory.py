"""The memory that this process may use, and the refusal of work that needs more.

Callers estimate the bytes that their work adds to this process or to a child, and call
`require_memory` before the work begins.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Final

from simalloc.errors import SimallocError
from simalloc.machine import system_text
from simalloc.sizes import parse_size, spell_bytes

VARIABLE: Final = "SIMALLOC_MEMORY"
"""Environment variable for the permitted bytes, such as 8G, instead of the measured ones."""

SMALL: Final = 64 << 20
"""Smaller needs are neither compared with the free memory nor reported."""
STATED: Final = 1 << 30
"""Minimum need in bytes that is reported before the work begins."""

_KEPT_FREE: Final = 0.1
"""Share of the free memory that remains for other processes."""
_state: Callable[[str], None] = lambda _: None  # noqa: E731 - the command line sets another
_stated: Final[set[str]] = set()
"""Sentences already reported; many successive replays may need the same memory."""


def state_needs_by(state: Callable[[str], None]) -> None:
    """Set the function that reports each need of at least `STATED` bytes, as a sentence."""
    global _state  # noqa: PLW0603 - a process has one output of messages
    _state = state


def require_memory(
    needed: int, what: str, remedy: str = "Replay fewer policies at once or a part of the trace"
) -> None:
    """Raise `SimallocError` if `needed` bytes are not permitted.

    `what` is the subject of the first sentence of the message, and `remedy` begins the second.
    """
    if needed < SMALL:
        return
    may = room()
    if may is not None and needed > may:
        raise SimallocError(
            f"{what} needs about {spell_bytes(needed)} of memory, but only "
            f"{spell_bytes(may)} may be used here. {remedy}, or set "
            f"{VARIABLE}={(needed >> 30) + 1}G if this estimate is too high"
        )
    sentence = f"{what} needs about {spell_bytes(needed)} of memory"
    if needed >= STATED and sentence not in _stated:
        _stated.add(sentence)
        _state(sentence)


def room() -> int | None:
    """Return the bytes that may become resident, or None if the system does not report them.

    The result is nine tenths of the minimum of three limits. The first is the memory that the
    kernel reports as available (MemAvailable of proc(5)). The second is the remaining memory of
    this process's control groups (memory.max and memory.current of the kernel's cgroup-v2
    documentation). The third is the remainder of its own limit of addresses (RLIMIT_AS of
    getrlimit(2)). The environment variable `SIMALLOC_MEMORY` overrides all of them.
    """
    if given := os.environ.get(VARIABLE):
        return _given(given)
    known = (_available(), _left_of_limit(), *_left_in_groups())
    free = [size for size in known if size is not None]
    return int(min(free) * (1 - _KEPT_FREE)) if free else None


def _given(text: str) -> int:
    try:
        return parse_size(text)
    except SimallocError:
        raise SimallocError(f"{VARIABLE} is {text!r}; write a size such as 8G") from None


def _left_of_limit() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    found = re.search(r"^VmSize:\s*(\d+) kB", system_text("/proc/self/status"), re.MULTILINE)
    return limit if found is None else max(0, limit - int(found[1]) * 1024)


def _available() -> int | None:
    found = re.search(r"^MemAvailable:\s*(\d+) kB", system_text("/proc/meminfo"), re.MULTILINE)
    return None if found is None else int(found[1]) * 1024


def _left_in_groups() -> list[int]:
    """Return the bytes left in each control group with a limit, from this process's own up."""
    found = re.search(r"^0::/(.*)$", system_text("/proc/self/cgroup"), re.MULTILINE)
    if found is None:
        return []
    top = Path("/sys/fs/cgroup")
    group = top / found[1]
    left = []
    for folder in (group, *group.parents):
        most, used = system_text(folder / "memory.max"), system_text(folder / "memory.current")
        if most.strip().isdecimal() and used.strip().isdecimal():
            # The kernel evicts inactive pages of files when a process needs memory.
            cached = re.search(
                r"^inactive_file (\d+)$", system_text(folder / "memory.stat"), re.MULTILINE
            )
            left.append(max(0, int(most) - int(used) + (int(cached[1]) if cached else 0)))
        if folder == top:
            break
    return left
