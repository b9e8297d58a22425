"""Reader of the raw recording of one process (docs/recorder.md), during or after the recording."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import TraceError
from simalloc.trace.events import OPTIONAL_COLUMNS
from simalloc.trace.recorder._reader import Reader
from simalloc.trace.recorder.start import read_start
from simalloc.trace.shapes import ReadEvents
from simalloc.trace.stacks import Frame
from simalloc.trace.symbols import Place

RAW_SUFFIX: Final = ".raw"
_USERS: Final = "uid.*"
CHUNK_EVENTS: Final = 1 << 18
_RECORDED: Final = ("alignment", "thread", "time", "site")
EVERY_RECORD: Final = 2**64 - 1
"""A number above the number of every record."""
_LOST_BY_SECCOMP: Final = 1 << 16
_NOTHING_LOST: Final = 2**64 - 1


def raw_files(directory: Path) -> list[Path]:
    """Return the raw recordings in a directory and in its users' folders.

    Processes that have given up root's rights continue to record in these folders. The contents of
    the folders are not trusted, and only regular files are returned.
    """
    found = [*directory.glob(f"*{RAW_SUFFIX}"), *directory.glob(f"{_USERS}/*{RAW_SUFFIX}")]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


@dataclass(frozen=True)
class Counts:
    """Counts of a recording up to the last event that was read.

    `records` is the number of records that the process has numbered, and `read` the number that has
    been found in the recording. An `unknown` block was allocated before the recording began. A free
    is `unseen` if its address was allocated again without a recorded free. If the recording ends
    before the program, `lost_reason` is an errno, or 0 for a requested end; otherwise it is None.
    """

    records: int
    read: int
    live_bytes: int
    live_objects: int
    frees_of_unknown: int
    reallocs_of_unknown: int
    reallocs_failed: int
    frees_unseen: int
    lost_reason: int | None


class RawRecording:
    """The raw recording of one process. A fault in the file raises a `TraceError` that names it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._reader = Reader(self.path)
        except ValueError as error:
            raise self._damage(error) from None
        header = self._reader.header
        self.start = read_start(self.path)
        """Live blocks at the beginning of the recording, or None if unknown or missing."""
        if self.start is not None:
            self._reader.begin_with(self.start.address, self.start.size)
        self.process = header["process"]
        self.parent = header["parent"]
        self.started = header["started"] / 1e9
        """Beginning of the recording in seconds since the epoch."""
        self.executable = os.fsdecode(header["executable"])
        words = os.fsdecode(header["command"]).removesuffix("\0")
        self.command = words.split("\0")
        self.malloc = _name_of(os.fsdecode(header["allocator"]), os.fsdecode(header["libc"]))
        """The malloc that served the program: "glibc 2.36", or the file of its library."""
        self.second_malloc = (os.fsdecode(header["other"]), header["others"])
        """Another library that served the program besides malloc's library, and its number of
        allocations.
        """
        optional = [name for name in ("time", "site") if header[name]]
        self.depth = header["depth"]
        """Maximum number of return addresses of a site, or 0 if sites were not recorded."""
        self.every = header["every"]
        """Mean bytes from one sampled byte to the next, or 0 if all blocks were recorded."""
        self.has_unwritten = header["unwritten"] > 0
        """True if a large block was not completely written."""
        self.columns = tuple(
            name for name in OPTIONAL_COLUMNS if name in {"alignment", "thread", *optional}
        )
        """The optional columns that were recorded."""

    @property
    def counts(self) -> Counts:
        """Counts up to the last event that was read."""
        counts = self._reader.counts
        ends = counts["lost_from"] != _NOTHING_LOST
        return Counts(
            records=min(counts["records_begun"], counts["lost_from"]),
            read=counts["records_read"],
            live_bytes=counts["live_bytes"],
            live_objects=counts["live_objects"],
            frees_of_unknown=counts["frees_of_unknown"],
            reallocs_of_unknown=counts["reallocs_of_unknown"],
            reallocs_failed=counts["reallocs_failed"],
            frees_unseen=counts["frees_unseen"],
            lost_reason=counts["lost_reason"] if ends else None,
        )

    @property
    def places(self) -> list[Place | tuple[Frame, ...]]:
        """The recorded calls by number. Number 0 means no call and has no frame.

        A call is identified by the byte before its return address. A call in Python code is
        identified by its frame.
        """
        met = (self._place(text, offset) for text, offset in self._reader.places[1:])
        return [(), *met]

    def _place(self, text: bytes, offset: int) -> Place | tuple[Frame, ...]:
        function, of_python, file = text.decode("utf-8", "backslashreplace").partition("\0")
        if of_python:
            return ((function, file, offset),)
        return Place(os.fsdecode(text) or self.executable, max(offset - 1, 0))

    @property
    def sites(self) -> NDArray[np.uint32]:
        """By site number, two columns: the calling site's number and the place's number."""
        return np.frombuffer(self._reader.sites, np.uint32).reshape(-1, 2)

    @property
    def looks(self) -> NDArray[np.uint64]:
        """The process's measurements of its memory at new peaks, up to the last event read.

        Columns: events so far, nanoseconds since the recording began, resident and mapped bytes.
        """
        return np.frombuffer(self._reader.looks, np.uint64).reshape(-1, 4)

    @property
    def unwritten(self) -> NDArray[np.int64]:
        """Bytes of large objects that the program never wrote, up to the last event that was read.

        A row contains the number of events before it, the object's number, and the number of bytes.
        """
        return np.frombuffer(self._reader.unwritten, np.int64).reshape(-1, 3)

    @property
    def large_blocks(self) -> NDArray[np.int64]:
        """The large blocks that are live at the process's last record.

        Columns: address, bytes, and the number of a record that was written after the block's
        allocation.
        """
        return np.frombuffer(self._reader.large_blocks, np.int64).reshape(-1, 3)

    @property
    def mapping_records(self) -> bytes:
        """The program's own mappings and unmappings, as records defined in preload/format.h."""
        return self._reader.mappings

    def object_at(self, address: int) -> int | None:
        """Return the number of the live object at an address after the records read so far."""
        number = self._reader.object(address)
        return number if number >= 0 else None

    @property
    def processor_begun(self) -> float:
        """Seconds of processor time that the process had used when the recording began."""
        return self._reader.header["processor"] / 1e9

    @property
    def processor_ended(self) -> float | None:
        """Seconds of processor time at the program's own end, or None before it."""
        return self._reader.counts["processor_ended"] / 1e9 or None

    def refresh(self) -> None:
        """Update the view of the recording with the records written in the meantime."""
        try:
            self._reader.refresh()
        except ValueError as error:
            raise self._damage(error) from None

    def stop(self) -> None:
        """End the recording here. The process may continue."""
        self._reader.stop(self.path)

    def chunks(self, before: int = EVERY_RECORD) -> Iterator[ReadEvents]:
        """Yield the events since the last call, each chunk in separate memory.

        Keys are numbers in order of allocation, or -1 at thread exit. The columns are `address`,
        `alignment`, `thread`, `time` and `site`. `address` is the object's address after the event,
        or the freed object's address. `time` is in nanoseconds since the recording began. `site` is
        0 if unknown. `time` and `site` are 0 unless they were recorded. While the process runs,
        `before` must be a number of records from an earlier `counts`. Otherwise, a thread may not
        yet have written a record whose number has already been issued.
        """
        while True:
            op = np.empty(CHUNK_EVENTS, np.uint8)
            key, address, size = (np.empty(CHUNK_EVENTS, np.int64) for _ in range(3))
            columns = {name: np.empty(CHUNK_EVENTS, OPTIONAL_COLUMNS[name]) for name in _RECORDED}
            try:
                events = self._reader.read(before, op, key, address, size, *columns.values())
            except ValueError as error:
                raise self._damage(error) from None
            if events == 0:
                return
            yield ReadEvents(op, key, size, columns={"address": address, **columns}).part(0, events)

    def _damage(self, error: ValueError) -> TraceError:
        reason, offset = error.args
        return TraceError(f"the file {reason} (byte {offset})", path=self.path)


def reason_of(number: int) -> str:
    """Return the reason of an early end for an errno or `LOST_BY_SECCOMP` (preload/format.h)."""
    if number == _LOST_BY_SECCOMP:
        return "from there on it restricts its own system calls (seccomp)"
    return os.strerror(number)


def _name_of(library: str, libc: str) -> str:
    if Path(library).name.startswith("libc.so"):
        return f"glibc {libc}"
    return str(Path(library).resolve()) if library else ""


def is_running(recording: RawRecording) -> bool:
    """Return whether a process still writes this recording."""
    try:
        maps = Path(f"/proc/{recording.process}/maps").read_text("utf-8", "surrogateescape")
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EPERM)
    return f"/{recording.path.name}\n" in maps  # the process may see the folder by another path
