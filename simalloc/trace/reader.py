"""Reader of trace files, one chunk at a time. No content of a file is trusted."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import TraceError
from simalloc.memory import require_memory
from simalloc.plural import counted
from simalloc.trace._c import SPAN_EVENTS
from simalloc.trace.archive import DAMAGE, ZIP_START, Archive
from simalloc.trace.chunk import CHUNK_EVENTS, MAX_PLANES, Packed
from simalloc.trace.decoding import Decoding
from simalloc.trace.digests import Identity
from simalloc.trace.earlier import LAST_EARLIER
from simalloc.trace.events import DEVICE_COLUMNS, bytes_in_memory
from simalloc.trace.header import Header
from simalloc.trace.memory import PIECE
from simalloc.trace.optional import Clock, unpack_column
from simalloc.trace.shapes import BYTES_AN_EVENT, CheckedEvents, ReplayedEvents
from simalloc.trace.trace import Trace

SUFFIX: Final = ".npz"
_HEADER_LIMIT: Final = 1 << 24

REPLAYED_EVENTS: Final = PIECE // BYTES_AN_EVENT // SPAN_EVENTS * SPAN_EVENTS
"""Maximum number of events decoded at a time, whose columns fit in a piece of reused memory."""


class TraceReader:
    """Reads a trace of any length in bounded memory. Use it in a `with` statement.

    `header` is the file's own description, which is compared with the events after the last chunk.
    Every fault in the file raises a `TraceError` with the file's path.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._stack = ExitStack()
        with self._stack:
            stream = self._stack.enter_context(self.path.open("rb"))
            with self._errors("is not a complete simalloc trace"):
                self._archive = Archive(stream)
                text = self._archive.read("header", dimensions=1, limit=_HEADER_LIMIT)
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

    def chunks(self) -> Iterator[CheckedEvents]:
        """Yield the events, up to 2**20 at a time, each chunk in separate memory."""
        return self._fill(self._empty_chunks(), Decoding(self.header))

    def replayed_parts(self, wanted: Collection[str] = ()) -> Iterator[ReplayedEvents]:
        """Yield the columns that a replay needs, up to `REPLAYED_EVENTS` events at a time.

        `wanted` names the required optional columns.
        """
        decoding, clock = Decoding(self.header), Clock()
        for number, events in enumerate(self._lengths()):
            with self._errors(f"chunk {number} is damaged"):
                planes = self._begin(decoding, number, events, wanted)
                columns = {
                    name: unpack_column(name, planes[name], clock)
                    for name in planes
                    if name in wanted
                }
            for start in range(0, events, REPLAYED_EVENTS):
                length = min(REPLAYED_EVENTS, events - start)
                part = ReplayedEvents.empty(length)._replace(
                    columns={
                        name: values[start : start + length] for name, values in columns.items()
                    }
                )
                with self._errors(f"chunk {number} is damaged"):
                    decoding.decode(part.op, part.size, part.slot, live=part.live)
                yield part
        with self._errors("is damaged"):
            decoding.check()

    def read(self, progress: Callable[[float], None] = lambda _: None) -> Trace:
        """Return the whole trace.

        `progress` is called with the fraction read since the last call.
        """
        events = self.header.totals.events
        needed = bytes_in_memory(events, self.header.columns)
        require_memory(needed, f"{self.path}: a trace of {counted(events, 'event')} in memory")
        whole = CheckedEvents.empty(events, self.header.columns)
        parts = (whole.part(at, at + CHUNK_EVENTS) for at in range(0, events, CHUNK_EVENTS))
        for part in self._fill(parts, Decoding(self.header)):
            progress(len(part) / events)
        return Trace.of_checked(
            whole,
            slots=self.header.totals.max_live_objects,
            objects=self.header.totals.objects,
            name=self.header.name,
            provenance=self.header.provenance,
        )

    def identity(self) -> Identity:
        """Return the digests of the trace.

        The whole file is read if its version lacks some of them.
        """
        if self.header.version > LAST_EARLIER:
            return Identity(self.header.sha256, self.header.digests)
        decoding = Decoding(self.header)
        for _ in self._fill(self._empty_chunks(), decoding):
            pass
        return decoding.digests.identity

    def _lengths(self) -> Iterator[int]:
        """Yield the number of events in each chunk."""
        events = self.header.totals.events
        return (min(CHUNK_EVENTS, events - start) for start in range(0, events, CHUNK_EVENTS))

    def _empty_chunks(self) -> Iterator[CheckedEvents]:
        return (CheckedEvents.empty(size, self.header.columns) for size in self._lengths())

    def _fill(self, chunks: Iterator[CheckedEvents], decoding: Decoding) -> Iterator[CheckedEvents]:
        """Fill the columns of each chunk with the next events and yield it."""
        clock = Clock()
        for number, chunk in enumerate(chunks):
            with self._errors(f"chunk {number} is damaged"):
                columns = self._begin(decoding, number, len(chunk), chunk.columns)
                decoding.decode(chunk.op, chunk.size, chunk.slot, objects=chunk.object)
                for name, values in chunk.columns.items():
                    values[:] = unpack_column(name, columns[name], clock)
            yield chunk
        with self._errors("is damaged"):
            decoding.check()

    def _begin(
        self, decoding: Decoding, number: int, events: int, wanted: Collection[str] = ()
    ) -> dict[str, NDArray[np.uint8]]:
        """Read the next chunk and begin to decode it. Returns the planes of the requested columns.

        The digest in a file of an earlier version may cover further columns, which are also read.
        """
        digested = DEVICE_COLUMNS if self.header.version <= LAST_EARLIER else ()
        columns = {
            name: self._column(name, number, events)
            for name in self.header.columns
            if name in wanted or name in digested
        }
        decoding.begin(self._packed(number, events), events, columns)
        return columns

    def _packed(self, number: int, events: int) -> Packed:
        """Read a chunk's events.

        Checksums are not verified, because the SHA-256 covers the events.
        """
        read = partial(self._archive.read, check_sum=False)
        is_earlier = self.header.version <= LAST_EARLIER
        op = read(f"op.{number}", dimensions=1 if is_earlier else 2, limit=events)
        size, age = (
            _planes(name, read(f"{name}.{number}", dimensions=2, limit=MAX_PLANES * events))
            for name in ("size", "age")
        )
        return Packed(op, size, age)

    def _column(self, name: str, number: int, events: int) -> NDArray[np.uint8]:
        """Read a chunk of an optional column."""
        read = self._archive.read(f"{name}.{number}", dimensions=2, limit=MAX_PLANES * events)
        planes = _planes(name, read)
        if planes.shape[1] != events:
            raise TraceError(f"column {name} has {planes.shape[1]} numbers for {events} events")
        return planes

    def _check_members(self) -> None:
        """Compare the members of the archive with the header."""
        columns = len(Packed._fields) + len(self.header.columns)
        members = 1 + columns * (-(-self.header.totals.events // CHUNK_EVENTS))
        if len(self._archive) != members:
            raise TraceError(f"it has {len(self._archive)} members, not {members}")

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Add the file's path to every error."""
        try:
            yield
        except TraceError as error:
            raise error.at(self.path) from None
        except DAMAGE as error:
            raise TraceError(f"{what}: {error}", path=self.path) from error


def is_trace_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins like a trace file or has its suffix."""
    if Path(path).suffix == SUFFIX:
        return True
    with Path(path).open("rb") as stream:
        return stream.read(len(ZIP_START)) == ZIP_START


def read_trace(
    path: str | os.PathLike[str], progress: Callable[[float], None] = lambda _: None
) -> Trace:
    """Read a trace file. `progress` is described in `TraceReader.read`."""
    with TraceReader(path) as reader:
        return reader.read(progress)


def _planes(name: str, array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the planes of a column. Raises `TraceError` if their number is invalid."""
    if not 1 <= len(array) <= MAX_PLANES:
        raise TraceError(f"column {name} has {len(array)} planes")
    return array
