"""Selection of the source of a snapshot."""

from __future__ import annotations

from pathlib import Path

from simalloc.process.core_file import CoreFile
from simalloc.process.live import LiveProcess
from simalloc.process.saved import load_snapshot
from simalloc.process.snapshot import Snapshot
from simalloc.process.statistics import Statistics, read_statistics
from simalloc.process.take import take_snapshot
from simalloc.process.target import ProcessError


def snapshot_of(source: str, *, content: bool = False) -> Snapshot | Statistics:
    """Return a snapshot of a process or core file, a saved snapshot, or an allocator's statistics.

    `source` is a process number or a path. `content` is described in `take_snapshot`. Raises
    `ProcessError` if the source does not exist, may not be read, or has no heap.
    """
    if source.isascii() and source.isdigit():
        return take_snapshot(LiveProcess(int(source)), content=content)
    path = Path(source)
    if not path.is_file():
        raise ProcessError(
            f"{source} is neither the number of a process nor a file; `ps` lists processes"
        )
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"\x7fELF":
        return take_snapshot(CoreFile(path), content=content)
    return load_snapshot(path) if start[:2] == b"PK" else read_statistics(path)
