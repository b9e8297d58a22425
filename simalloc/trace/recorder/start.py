"""The heap of a running process when its recording began: its live blocks and a snapshot."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.arrays import load_arrays
from simalloc.errors import TraceError
from simalloc.files import replacing

START_SUFFIX: Final = ".start"

HEAP_SUFFIX: Final = ".heap.npz"
"""File name suffix of a snapshot from `simalloc.process.save_snapshot`."""


@dataclass(frozen=True, eq=False)
class Start:
    """Live blocks in order of address, and their totals.

    A sampled recording contains only the totals.
    """

    address: NDArray[np.int64]
    size: NDArray[np.int64]
    """Usable bytes of each block. The requested sizes are unknown."""
    objects: int
    bytes: int

    @classmethod
    def of(cls, address: NDArray[np.int64], size: NDArray[np.int64]) -> Start:
        """Return a start with these blocks."""
        return cls(address, size, len(size), int(size.sum()))

    def without_blocks(self) -> Start:
        """Return a copy with the totals only."""
        return Start(self.address[:0], self.size[:0], self.objects, self.bytes)


def write_start(raw: Path, start: Start) -> None:
    """Write the start of a raw recording to a file beside it, which must not exist."""
    with create_beside(raw, START_SUFFIX) as file:
        totals = np.array([start.objects, start.bytes], np.int64)
        np.savez(file, address=start.address, size=start.size, totals=totals)


def create_beside(raw: Path, suffix: str) -> BinaryIO:
    """Create a file beside a raw recording and open it for writing. The file must not exist."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(raw.with_suffix(suffix), flags, 0o600), "wb")


def copy_heap(raw: Path, output: Path) -> Path | None:
    """Copy the snapshot beside a raw recording to a file beside a trace, and return the new path.

    Returns None if the snapshot is missing. A link is not followed, because the folder of a
    recording belongs to the user of its process.
    """
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(raw.with_suffix(HEAP_SUFFIX), flags)
    except OSError:
        return None
    target = output.with_name(output.stem + HEAP_SUFFIX)
    with os.fdopen(descriptor, "rb") as source:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with replacing(target, private=True) as copy:
            shutil.copyfileobj(source, copy)
    return target


def read_start(raw: Path) -> Start | None:
    """Return the start of a raw recording, or None if it has none.

    Raises `TraceError` if damaged.
    """
    path = raw.with_suffix(START_SUFFIX)
    try:
        if path.is_symlink() or not path.is_file():
            return None
        saved = load_arrays(path, dict.fromkeys(("address", "size", "totals"), (np.int64, 1)))
    except (OSError, ValueError):
        raise TraceError("the file is damaged", path=path) from None
    address, size, totals = saved["address"], saved["size"], saved["totals"]
    if len(address) != len(size) or len(totals) != 2 or (size < 0).any():
        raise TraceError("the file is damaged", path=path)
    return Start(address, size, int(totals[0]), int(totals[1]))
