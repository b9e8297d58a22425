"""Opens what a snapshot is taken of."""

from __future__ import annotations

from pathlib import Path

from simalloc.process.core_file import CoreFile
from simalloc.process.live import LiveProcess
from simalloc.process.target import ProcessError, Target


def open_target(source: str) -> Target:
    """Return the process of this number, or the core file at this path.

    Raises `ProcessError` if there is none, or if it may not be read.
    """
    if source.isascii() and source.isdigit():
        return LiveProcess(int(source))
    path = Path(source)
    if not path.is_file():
        raise ProcessError(
            f"{source} is neither the number of a process nor a core file; `ps` lists processes"
        )
    return CoreFile(path)
