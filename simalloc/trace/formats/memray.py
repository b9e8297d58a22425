"""memray's capture files, read record by record by memray itself (the extra `memray`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, cast

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import TraceError
from simalloc.trace.events import Op
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.formats.numbering import Numbering
from simalloc.trace.shapes import ReadEvents

_MAGIC: Final = b"memray\0"
_LZ4: Final = b"\x04\x22\x4d\x18"
_HEAD: Final = 64
_BLOCK: Final = 1 << 20
CHILD: Final = Path(__file__).with_name("memray_child.py")
_AGGREGATED: Final = 3  # exit code of the child for a file of totals
_NUMBERS: Final = 5  # numbers per record
_RECORD: Final = 8 * _NUMBERS  # bytes per record
_RECORDS: Final = 1 << 14
_FRAMES: Final = 256  # maximum frames of a call path
_LONGEST: Final = 200  # maximum bytes of the child's last message
_STOPPED: Final = "Memray ERROR"
"""The text that memray's reader prints to stderr before it ends at an unreadable record."""
_COLUMNS: Final = ("thread", "site")

# Values of memray's AllocatorType. A realloc is recorded as a free and an allocation.
_FREES: Final = (1, 5)
_CALLOCS: Final = (3, 8)
_MAPPINGS: Final = (14, 15)
_KNOWN: Final = tuple(range(1, 16))


@dataclass(frozen=True)
class _Memray:
    """A file that contains every allocation. A file of totals by place is refused."""

    name: str = "memray"
    title: str = "memray"

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return head.startswith(_MAGIC) or (head.startswith(_LZ4) and _MAGIC in head[:_HEAD])

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        log.may_begin_late = True  # memray attach, or memray run attaching to a Python
        if find_spec("memray") is None:
            raise log.wrong(
                "is a file of memray; reading it needs memray: pip install 'simalloc[memray]'"
            )
        if not self.sniff(log.stream.peek(_HEAD)):  # memray may read the whole file to recognise it
            raise log.wrong("does not begin like a file of memray")
        return Reading(_COLUMNS, _batches(log))


def _batches(log: Log) -> Iterator[Batch]:
    threads = Numbering()
    with tempfile.NamedTemporaryFile(suffix=".names") as names:
        sites = _Sites(log, names)
        for numbers in _records(log, names.name):
            yield _batch(log, numbers, threads, sites)


class _Sites:
    """Numbers the call paths of memray's places.

    The child writes the paths before their records.
    """

    def __init__(self, log: Log, names: IO[bytes]) -> None:
        self._log = log
        self._names = names
        self._of_place: dict[int, int] = {}

    def __call__(self, places: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the site of each place, or 0 for places that the child did not name."""
        while (line := self._names.readline()).endswith(b"\n"):
            place, frames = json.loads(line)
            self._of_place[place] = self._log.stacks.path(frames)
        self._names.seek(-len(line), os.SEEK_CUR)  # the line is not yet complete
        different, which = np.unique(places.view(np.uint64), return_inverse=True)
        numbers = [self._of_place.get(place, 0) for place in different.tolist()]
        return np.array(numbers, np.uint32)[which]


def _batch(log: Log, numbers: NDArray[np.int64], threads: Numbering, sites: _Sites) -> Batch:
    allocator, address, size, thread, site = numbers
    known = np.isin(allocator, _KNOWN)
    if not known.all():
        unknown = int(allocator[np.argmin(known)])
        raise log.wrong(f"memray cannot read it: unknown allocator {unknown}")
    mapped = np.isin(allocator, _MAPPINGS)
    log.leave_out("mappings of memory (mmap and munmap)", int(np.count_nonzero(mapped)))
    free = np.isin(allocator, _FREES)
    new = np.where(np.isin(allocator, _CALLOCS), Op.CALLOC, Op.MALLOC)
    op = np.where(free, Op.FREE, new).astype(np.uint8)
    columns: dict[str, Any] = {
        "thread": threads(thread).astype(np.uint32),
        "site": np.where(free, 0, sites(site)).astype(np.uint32),
    }
    events = ReadEvents(op, address, size, columns=columns)
    return Batch(events.taken(~mapped), hexadecimal=True)


def _records(log: Log, names: str) -> Iterator[NDArray[np.int64]]:
    """Yield allocator, address, size, thread and place of records, shape (5, records)."""
    with tempfile.NamedTemporaryFile(suffix=".memray") as copy:  # memray can only read files
        while block := log.stream.read(_BLOCK):
            copy.write(block)
        copy.flush()
        yield from _records_of(log, copy.name, names)


def start_child(arguments: list[str], complaint: BinaryIO) -> subprocess.Popen[bytes]:
    """Start `memray_child.py` with its records on a pipe."""
    command = [sys.executable, "-I", str(CHILD), *arguments]
    return subprocess.Popen(  # noqa: S603 - our own program on our own copy of the log
        command, stdout=subprocess.PIPE, stderr=complaint
    )


def _records_of(log: Log, path: str, names: str) -> Iterator[NDArray[np.int64]]:
    with (
        tempfile.TemporaryFile() as complaint,
        start_child([path, names, str(_FRAMES)], complaint) as child,
    ):
        stdout = cast("BufferedReader", child.stdout)
        try:
            while block := stdout.read(_RECORDS * _RECORD):
                whole = len(block) // _RECORD * _RECORD
                yield np.frombuffer(block[:whole], np.int64).reshape(-1, _NUMBERS).T
        finally:
            stdout.close()
        code, text = child.wait(), _last_line(complaint)
        if code:
            raise _error(log, code, text)
        if text.startswith(_STOPPED):
            log.complain(
                "ends of damaged files", f"memray stops before the end of the file: {text}"
            )


def _last_line(complaint: BinaryIO) -> str:
    """Return the child's last line. Earlier lines are warnings about symbols."""
    length = complaint.seek(0, os.SEEK_END)
    complaint.seek(max(length - _LONGEST, 0))
    return complaint.read().decode("utf-8", "backslashreplace").strip().rpartition("\n")[2]


def _error(log: Log, code: int, text: str) -> TraceError:
    if code == _AGGREGATED:
        return log.wrong(
            "contains memray's totals instead of the allocations; record again without --aggregate"
        )
    return log.wrong(f"memray cannot read it: {text if code > 0 else 'it is damaged'}")


FORMAT: Final = _Memray()
