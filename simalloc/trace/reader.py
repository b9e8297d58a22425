"""Reads the project's own trace file, a chunk at a time, and believes nothing it says."""

from __future__ import annotations

import math
import os
import re
import struct
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

import numpy as np

from simalloc.errors import TraceError
from simalloc.trace._native import LiveTable
from simalloc.trace.chunk import CHUNK_EVENTS, MAX_PLANES, Digest, Packed, unpack
from simalloc.trace.events import OPTIONAL_COLUMNS, enter
from simalloc.trace.header import Header, Totals
from simalloc.trace.intake import Chunk
from simalloc.trace.optional import Clock, unpack_column
from simalloc.trace.source import Stretch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from simalloc.trace.trace import Trace

SUFFIX: Final = ".npz"
ZIP_START: Final = b"PK\x03\x04"

_HEADER_LIMIT: Final = 1 << 24
_BYTES_AN_EVENT: Final = 21
_NPY_START: Final = re.compile(rb"\x93NUMPY\x01\x00(..)", re.DOTALL)
_NPY_HEADER: Final = re.compile(
    rb"\{'descr': '\|u1', 'fortran_order': False, 'shape': \((\d{1,18}),(?: (\d{1,18}))?\), \} *\n"
)
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
    struct.error,
)


class TraceReader:
    """Reads a trace of any length in bounded memory; use it in a `with` statement.

    `header` holds what the file says about itself. It is checked against the events when the last
    chunk has been read. Whatever is wrong with the file is a `TraceError` that names it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._stack = ExitStack()
        with self._stack:
            stream = self._stack.enter_context(self.path.open("rb"))
            with self._errors("is not a simalloc trace, or was cut off"):
                self._archive = self._stack.enter_context(zipfile.ZipFile(stream))
                text = self._member("header", dimensions=1, limit=_HEADER_LIMIT)
                self.header = Header.from_json(text.tobytes())
                self._check_members()
            self._stack = self._stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._stack.close()

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events, up to 2**20 at a time, each chunk in memory of its own."""
        return self._fill(Chunk.empty(size, self.header.columns) for size in self._lengths())

    def stretches(self) -> Iterator[Stretch]:
        """Yield what a replay needs of the events, up to 2**20 at a time."""
        for chunk in self._fill(Chunk.empty(size) for size in self._lengths()):
            yield Stretch(chunk.op, chunk.size, chunk.slot)

    def read(self, progress: Callable[[float], None] = lambda _: None) -> Trace:
        """Return the whole trace; `progress` is called with the share read since the last call."""
        events = self.header.totals.events
        needed = events * _BYTES_AN_EVENT
        if needed > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
            raise TraceError(
                f"its {events:,} events take {needed / 1e9:,.0f} GB, which is more than there is "
                "memory",
                path=self.path,
            )
        whole = Chunk.empty(events, self.header.columns)
        parts = (whole.part(at, at + CHUNK_EVENTS) for at in range(0, events, CHUNK_EVENTS))
        for part in self._fill(parts):
            progress(len(part) / events)
        return whole.freeze(
            slots=self.header.totals.max_live_objects,
            objects=self.header.totals.objects,
            name=self.header.name,
            provenance=self.header.provenance,
        )

    def _lengths(self) -> Iterator[int]:
        """Yield the number of events in each chunk."""
        events = self.header.totals.events
        return (min(CHUNK_EVENTS, events - start) for start in range(0, events, CHUNK_EVENTS))

    def _fill(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Fill the columns of each chunk with the next events and yield it."""
        table, digest, clock = LiveTable(), Digest(), Clock()
        events = 0
        for number, chunk in enumerate(chunks):
            with self._errors(f"chunk {number} is damaged"):
                packed = self._packed(number, len(chunk))
                digest.update(packed)
                unpack(packed, table.objects, chunk.op, chunk.object, chunk.size)
                enter(table, chunk.op, chunk.object, chunk.size, chunk.object, chunk.slot, events)
                for name, values in chunk.columns.items():
                    planes = self._planes(name, number, len(chunk))
                    values[:] = unpack_column(name, planes, clock)
            events += len(chunk)
            yield chunk
        if Totals.of(table, events) != self.header.totals:
            raise TraceError("its header does not say what its events add up to", path=self.path)
        if digest.hexdigest() != self.header.sha256:
            raise TraceError("its events do not have the SHA-256 in its header", path=self.path)

    def _packed(self, number: int, events: int) -> Packed:
        op = self._member(f"op.{number}", dimensions=1, limit=(events + 3) // 4)
        if len(op) != (events + 3) // 4:
            raise TraceError(f"it has {len(op)} bytes of ops for {events} events")
        return Packed(op, self._planes("size", number, events), self._planes("age", number, events))

    def _planes(self, column: str, number: int, events: int) -> NDArray[np.uint8]:
        planes = self._member(f"{column}.{number}", dimensions=2, limit=MAX_PLANES * events)
        if not 1 <= len(planes) <= MAX_PLANES:
            raise TraceError(f"column {column} has {len(planes)} planes")
        if column in OPTIONAL_COLUMNS and planes.shape[1] != events:
            raise TraceError(f"column {column} has {planes.shape[1]} numbers for {events} events")
        return planes

    def _check_members(self) -> None:
        """Compare what the archive holds with what its header says."""
        columns = len(Packed._fields) + len(self.header.columns)
        members = 1 + columns * (-(-self.header.totals.events // CHUNK_EVENTS))
        if len(self._archive.namelist()) != members:
            raise TraceError(f"it has {len(self._archive.namelist())} members, not {members}")

    def _member(self, name: str, *, dimensions: int, limit: int) -> NDArray[np.uint8]:
        """Read an array of no more than `limit` bytes."""
        with self._archive.open(_plain(self._archive.getinfo(f"{name}.npy"))) as member:
            shape = _shape(member)
            if len(shape) != dimensions:
                raise TraceError(f"{name} is not an array of bytes in {dimensions} dimensions")
            length = math.prod(shape)
            if length > limit:
                raise TraceError(f"{name} has {length} bytes; {limit} are the most there can be")
            content = member.read(length + 1)  # to the end, where the check sum is tested
        if len(content) != length:
            raise TraceError(f"{name} does not have the {length} bytes that it says")
        return np.frombuffer(content, np.uint8).reshape(shape)

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Name the file in every complaint."""
        try:
            yield
        except TraceError as error:
            raise error.at(self.path) from None
        except _DAMAGE as error:
            raise TraceError(f"{what}: {error}", path=self.path) from error


def is_trace_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is in this format, by how it begins, or is at least called so."""
    if Path(path).suffix == SUFFIX:
        return True
    with Path(path).open("rb") as stream:
        return stream.read(len(ZIP_START)) == ZIP_START


def read_trace(
    path: str | os.PathLike[str], progress: Callable[[float], None] = lambda _: None
) -> Trace:
    """Read a trace from the project's own file; for `progress` see `TraceReader.read`."""
    with TraceReader(path) as reader:
        return reader.read(progress)


def _plain(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise TraceError(f"{member.filename} is compressed by another method than deflate")
    return member


def _shape(member: IO[bytes]) -> tuple[int, ...]:
    """Read the start of a .npy file; () if it is no array of bytes."""
    start = _NPY_START.fullmatch(member.read(10))
    if start is None:
        return ()
    header = _NPY_HEADER.fullmatch(member.read(int.from_bytes(start[1], "little")))
    if header is None:
        return ()
    return tuple(int(length) for length in header.groups() if length is not None)
