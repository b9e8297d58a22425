"""A trace that stays in its file."""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from simalloc.errors import TraceError
from simalloc.trace.ahead import ahead
from simalloc.trace.digests import Identity
from simalloc.trace.events import DEVICE_COLUMNS, Op
from simalloc.trace.header import Header
from simalloc.trace.reader import TraceReader
from simalloc.trace.shapes import CheckedEvents, ReplayedEvents
from simalloc.trace.source import thread_numbers_in
from simalloc.trace.trace import Trace

_CHUNKS_AHEAD: Final = 1
"""Chunks take some 21 to 57 bytes per event."""


@dataclass(frozen=True)
class TraceFile:
    """A trace of any length that stays in its file. `open_trace` creates one.

    Its memory does not depend on the trace's length. It takes 2 MB for each of about ten parts, up
    to 17 MB for a chunk, 16 MB for each requested optional column, and up to 100 bytes for each
    simultaneously live object.
    """

    path: Path
    header: Header
    other_name: str | None = None

    @property
    def name(self) -> str:
        """Name of the trace."""
        return self.header.name if self.other_name is None else self.other_name

    @property
    def is_of_device(self) -> bool:
        """True for a trace of a device's memory, as in `Trace.is_of_device`. May read the file."""
        if not set(DEVICE_COLUMNS).isdisjoint(self.header.columns) or "device" in self.provenance:
            return True
        with closing(self.replayed_parts()) as parts:
            return any((part.op == Op.USE).any() for part in parts)

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Origin of the trace."""
        return self.header.provenance

    @property
    def objects(self) -> int:
        """Number of allocated objects."""
        return self.header.totals.objects

    @property
    def max_live_bytes(self) -> int:
        """Maximum live bytes after any event."""
        return self.header.totals.max_live_bytes

    @property
    def slots(self) -> int:
        """Maximum number of simultaneously live objects."""
        return self.header.totals.max_live_objects

    @property
    def allocated_bytes(self) -> int:
        """Total of the requested bytes."""
        return self.header.totals.allocated_bytes

    @cached_property
    def thread_numbers(self) -> frozenset[int]:
        """The numbers of the events' threads, or an empty set. May read the file."""
        if "thread" not in self.header.columns:
            return frozenset()
        with closing(self.chunks()) as chunks:
            return thread_numbers_in(chunks)

    @property
    def threads(self) -> int:
        """Number of threads of the events; 1 if the trace does not record threads."""
        return max(1, len(self.thread_numbers))

    def __len__(self) -> int:
        return self.header.totals.events

    def replayed_parts(self, columns: Collection[str] = ()) -> Generator[ReplayedEvents]:
        """Yield the events, some 100,000 at a time. A separate thread reads ahead.

        `columns` names the requested optional columns. Columns that the trace lacks are omitted.
        Raises `TraceError` at the first damaged chunk, or at the end if the events contradict the
        header.
        """
        with TraceReader(self.path) as reader:
            self._check(reader)
            with closing(ahead(reader.replayed_parts(columns))) as parts:
                for part in parts:
                    yield part.summed_up()

    def chunks(self) -> Generator[CheckedEvents]:
        """Yield the events, up to 2**20 at a time. A separate thread reads ahead.

        Raises the same errors as `replayed_parts`.
        """
        with TraceReader(self.path) as reader:
            self._check(reader)
            with closing(ahead(reader.chunks(), depth=_CHUNKS_AHEAD)) as chunks:
                yield from chunks

    def in_memory(self) -> Trace:
        """Return the whole trace."""
        with TraceReader(self.path) as reader:
            self._check(reader)
            return replace(reader.read(), name=self.name)

    def prefix(self, events: int) -> Trace:
        """Return the first `events` events, or all events if the trace has fewer.

        Reads no further.
        """
        if events >= len(self):
            return self.in_memory()
        with TraceReader(self.path) as reader:
            self._check(reader)
            chunks = [CheckedEvents.empty(0, self.header.columns)]
            for chunk in reader.chunks():
                chunks.append(chunk)
                if sum(map(len, chunks)) >= events:
                    break
        whole = Trace.of_checked(
            CheckedEvents.join(chunks),
            slots=self.slots,
            objects=self.objects,
            name=self.name,
            provenance=self.provenance,
        )
        return whole.prefix(events)

    def sha256(self) -> str:
        """Return the SHA-256 of the events, in hexadecimal, as `Trace.sha256` does."""
        return self.digest(())

    def digest(self, columns: Collection[str]) -> str:
        """Return a SHA-256 of the events and of some optional columns, as `Trace.digest` does.

        A file of an earlier version is read once to compute it.
        """
        return self.identity.digest(columns)

    @cached_property
    def identity(self) -> Identity:
        """The digests of the events and of each optional column."""
        with TraceReader(self.path) as reader:
            self._check(reader)
            return reader.identity()

    def renamed(self, name: str) -> TraceFile:
        """Return the same file with another name for its trace."""
        return replace(self, other_name=name)

    def _check(self, reader: TraceReader) -> None:
        if reader.header != self.header:
            raise TraceError("has changed since it was opened", path=self.path)


def open_trace(path: str | os.PathLike[str]) -> TraceFile:
    """Open a trace file, which is read during each replay.

    Raises `TraceError` if its header is invalid.
    """
    with TraceReader(path) as reader:
        return TraceFile(reader.path, reader.header)
