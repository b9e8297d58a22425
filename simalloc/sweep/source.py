"""Sources of the traces of a plan. A source has the properties of its trace before reading it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from simalloc.errors import TraceError
from simalloc.trace import (
    EventSource,
    Trace,
    TraceFile,
    TraceReader,
    open_trace,
    write_trace,
)
from simalloc.trace.catalogue import load
from simalloc.trace.digests import Identity
from simalloc.trace.events import bytes_in_memory
from simalloc.trace.header import Header
from simalloc.trace.workloads import Synthetic, generate, workload

BYTES_A_STREAM: Final = 80 << 20
"""Memory in bytes for the parts of a file that are read but not replayed, and their packed form."""
BYTES_A_SLOT_READ: Final = 64
"""Maximum bytes that reading a file needs for each simultaneously live object."""
BYTES_A_SLOT: Final = 192
"""Maximum bytes that a replay needs for each simultaneously live object (docs/sweeps.md)."""


class Origin(NamedTuple):
    """Program of a trace, and the seed of a generated trace."""

    program: str
    seed: int | None

    @classmethod
    def of(cls, name: str, provenance: Mapping[str, Any]) -> Origin:
        """Return the origin of a trace. `name` replaces a program missing from its provenance."""
        program, seed = provenance.get("program"), provenance.get("seed")
        return cls(
            program if isinstance(program, str) and program else name,
            seed if isinstance(seed, int) and abs(seed) < 1 << 63 else None,
        )


@dataclass(frozen=True)
class Source:
    """Identity of a trace, and the means to load it. Subclasses define `load`.

    `identity` contains the digests of the trace, `slots` is its maximum number of simultaneously
    live objects, and `memory` is the number of bytes that the loaded trace takes.
    """

    name: str
    identity: Identity = field(hash=False)
    events: int
    slots: int
    memory: int
    origin: Origin

    @property
    def sha256(self) -> str:
        """Digest of the events and all optional columns of the trace."""
        return self.identity.digest(self.identity.columns)

    def load(self) -> EventSource:
        """Return the trace. Raises `TraceError` or `OSError` if it is not available here."""
        raise TraceError(f"{self.name} is in the memory of another process")

    def pack(self) -> bytes:
        """Return the trace as the bytes of a file. Raises the exceptions of `load`."""
        with TemporaryDirectory(prefix="simalloc-") as folder:
            path = Path(folder) / "trace.npz"
            write_trace(self.load().in_memory(), path)
            return path.read_bytes()

    def unpack(self, packed: bytes) -> Trace:
        """Return the trace from the bytes of `pack`. Raises `TraceError` if it is another trace."""
        with TemporaryDirectory(prefix="simalloc-") as folder:
            path = Path(folder) / "trace.npz"
            path.write_bytes(packed)
            return self._read(path)

    def _read(self, path: Path) -> Trace:
        """Read a file in simalloc's format, and check that it contains this trace."""
        with TraceReader(path) as reader:
            self._check(reader.identity())
            return reader.read()

    def _check(self, identity: Identity) -> None:
        if identity != self.identity:
            raise TraceError(f"{self.name} has changed since the plan was read")

    def footprint(self, replays: int) -> int:
        """Return the bytes of memory that the trace needs during `replays` simultaneous replays."""
        return self.memory + replays * self.slots * BYTES_A_SLOT

    def streamed(self) -> Source:
        """Return a source that never holds the trace in memory, or this source by default."""
        return self


_Described = tuple[str, Identity, int, int, int, Origin]
"""Fields of a `Source`."""


@dataclass(frozen=True)
class FileSource(Source):
    """A trace in a file in simalloc's format.

    `stated` contains the digests in the header of the file. Files of earlier versions lack some.
    """

    path: Path
    stated: Identity = field(hash=False)

    @classmethod
    def of(cls, path: Path) -> FileSource:
        """Return the source of a file. Raises `TraceError` if the file is not a trace."""
        with TraceReader(path) as reader:
            header, identity = reader.header, reader.identity()
        events, slots = header.totals.events, header.totals.max_live_objects
        memory = bytes_in_memory(events, header.columns, replayed=True)
        origin = Origin.of(header.name, header.provenance)
        return cls(
            header.name, identity, events, slots, memory, origin, path.resolve(), _stated(header)
        )

    def load(self) -> EventSource:
        """Read the file, and check that it still contains the same trace."""
        return self._read(self.path)

    def _read(self, path: Path) -> Trace:
        with TraceReader(path) as reader:
            self._check_header(reader.header)
            return reader.read()

    def _check_header(self, header: Header) -> None:
        if _stated(header) != self.stated:
            raise TraceError(f"{self.name} has changed since the plan was read")

    def pack(self) -> bytes:
        """Return the bytes of the file."""
        return self.path.read_bytes()

    def streamed(self) -> Source:
        """Return a source that reads the file during each replay."""
        return StreamedSource(
            self.name,
            self.identity,
            self.events,
            self.slots,
            0,
            self.origin,
            self.path,
            self.stated,
        )


@dataclass(frozen=True)
class StreamedSource(FileSource):
    """A trace in a file that every replay reads again. `memory` is 0."""

    def load(self) -> TraceFile:
        """Open the file, and check that it still contains the same trace."""
        opened = open_trace(self.path)
        self._check_header(opened.header)
        return opened

    def footprint(self, replays: int) -> int:
        """Return the bytes of memory that `replays` replays need, each with its own reader."""
        return replays * (BYTES_A_STREAM + self.slots * (BYTES_A_SLOT + BYTES_A_SLOT_READ))


@dataclass(frozen=True)
class LogSource(Source):
    """An allocation log in another format. The properties of its trace need the whole log."""

    path: Path

    @classmethod
    def of(cls, path: Path) -> LogSource:
        """Return the source of a log. Raises `TraceError` if it cannot be read."""
        return cls(*_described(load(path)), path.resolve())

    def load(self) -> Trace:
        """Read the log again, and check that it still contains the same trace."""
        trace = load(self.path)
        self._check(trace.identity)
        return trace


@dataclass(frozen=True)
class WorkloadSource(Source):
    """A workload of the catalogue, which is generated where it is needed."""

    workload: str
    seed: int

    @classmethod
    def of(cls, name: str, seed: int) -> WorkloadSource:
        """Return the source of a workload. Raises `SimallocError` for an unknown name."""
        trace = workload(name, seed)
        return cls(*_described(trace.renamed(f"{trace.name}, seed {seed}")), name, seed)

    def load(self) -> Trace:
        """Generate the trace."""
        trace = workload(self.workload, self.seed)
        self._check(trace.identity)
        return trace


@dataclass(frozen=True)
class SyntheticSource(Source):
    """A synthetic workload, which is generated from its description where it is needed."""

    synthetic: Synthetic
    seed: int
    program: str

    @classmethod
    def of(cls, name: str, seed: int, synthetic: Synthetic) -> SyntheticSource:
        """Return the source. Raises `SimallocError` if a file of the description is missing."""
        trace = generate(synthetic, seed, name)
        return cls(*_described(trace.renamed(f"{name}, seed {seed}")), synthetic, seed, name)

    def load(self) -> Trace:
        """Generate the trace."""
        trace = generate(self.synthetic, self.seed, self.program)
        self._check(trace.identity)
        return trace


@dataclass(frozen=True)
class MemorySource(Source):
    """A trace in memory. Its pickle is a `Source` without the trace."""

    trace: Trace = field(repr=False, compare=False)

    @classmethod
    def of(cls, trace: Trace) -> MemorySource:
        """Return the source of a trace."""
        return cls(*_described(trace), trace)

    def load(self) -> Trace:
        """Return the trace."""
        return self.trace

    def __reduce__(self) -> tuple[type[Source], _Described]:
        return Source, (
            self.name,
            self.identity,
            self.events,
            self.slots,
            self.memory,
            self.origin,
        )


def _described(trace: Trace) -> _Described:
    """Return the fields of a `Source`."""
    memory = bytes_in_memory(len(trace), trace.columns, replayed=True)
    origin = Origin.of(trace.name, trace.provenance)
    return trace.name, trace.identity, len(trace), trace.slots, memory, origin


def _stated(header: Header) -> Identity:
    return Identity(header.sha256, header.digests)
