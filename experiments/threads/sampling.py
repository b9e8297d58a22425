"""`python sampling.py FIGURES COMMAND ARG...`: run a program and measure its memory.

The program's memory is read from outside, about every millisecond, in /proc/PID/smaps. Nothing is
loaded into the program. The script appends a line of two numbers to the file FIGURES: the maximum
resident bytes of the heap and of the whole process. This file needs only Python.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

PAUSE = 0.001
"""Interval between samples in seconds."""

HEAP_OF_ARENA = 64 << 20
"""Alignment of the heaps of glibc's arenas, except the main arena, in bytes."""

MIN_MAPPED = 128 << 10
"""Minimum size of blocks that glibc maps separately, in bytes."""

MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (....) \S+ \S+ \d+ *(.*)")


def resident(smaps: str) -> tuple[int, int]:
    """Return the resident bytes of the heap and of the whole process.

    The heap consists of the break, the arenas' heaps, and separately mapped blocks. A mapping above
    a guard page is a thread's stack. A mapping that follows a file belongs to the file.
    """
    heap = whole = 0
    is_heap = False
    before: tuple[int, str, str] = (0, "", "")
    for line in smaps.splitlines():
        mapping = MAPPING.match(line)
        if mapping:
            start, end = (int(edge, 16) for edge in mapping.group(1, 2))
            rights, name = mapping.group(3, 4)
            follows = before[0] == start and (before[1] == "---p" or bool(before[2]))
            is_block = not name and not follows and end - start >= MIN_MAPPED
            is_arena = not name and start % HEAP_OF_ARENA == 0
            is_heap = rights == "rw-p" and (name == "[heap]" or is_arena or is_block)
            before = end, rights, name
        elif line.startswith("Rss:"):
            size = int(line.split()[1]) * 1024
            whole += size
            heap += size if is_heap else 0
    return heap, whole


def watch(command: list[str]) -> tuple[int, int, int]:
    """Run a program; return its exit code and the maximum bytes of the heap and the process."""
    with subprocess.Popen(command) as process:  # noqa: S603 - the user names the command
        smaps = Path(f"/proc/{process.pid}/smaps")
        most = 0, 0
        while process.poll() is None:
            try:
                seen = resident(smaps.read_text())
            except (FileNotFoundError, ProcessLookupError):
                break
            most = max(most[0], seen[0]), max(most[1], seen[1])
            time.sleep(PAUSE)
        return process.wait(), *most


if __name__ == "__main__":
    code, heap, whole = watch(sys.argv[2:])
    with Path(sys.argv[1]).open("a") as figures:
        figures.write(f"{heap} {whole}\n")
    sys.exit(code)
