"""Live large blocks of a recorded process, and the bytes in them that were never written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from simalloc.trace.recorder.raw import RawRecording

_PAGE: Final = os.sysconf("SC_PAGESIZE")
_ENTRY: Final = 8
_PRESENT: Final = np.uint64(3 << 62)
"""Bits of a page that is in memory or swapped out."""

Large = tuple[int, int]
"""A live large block: its address, and a number that differs from the numbers of earlier blocks
there.
"""


def live_large(raw: RawRecording) -> Iterator[tuple[Large, int]]:
    """Yield the large blocks that were live at the process's last record, with their bytes."""
    for address, size, sequence in raw.large_blocks.tolist():
        yield (address, sequence), size


def unwritten_of_live(raw: RawRecording) -> Mapping[Large, int]:
    """Return, for each live large block, the bytes of its whole pages that are not in memory.

    The result is empty if the process has ended or may not be read.
    """
    try:
        with Path(f"/proc/{raw.process}/pagemap").open("rb", buffering=0) as pages:
            descriptor = pages.fileno()
            return {block: _missing(descriptor, block[0], size) for block, size in live_large(raw)}
    except OSError:
        return {}


def _missing(descriptor: int, address: int, size: int) -> int:
    first, end = -(-address // _PAGE), (address + size) // _PAGE
    entries = os.pread(descriptor, (end - first) * _ENTRY, first * _ENTRY)
    return int((np.frombuffer(entries, np.uint64) & _PRESENT == 0).sum()) * _PAGE
