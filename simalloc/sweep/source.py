"""Where a plan's traces come from. A source knows what a trace is before the trace is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from simalloc.errors import PlanError, TraceError
from simalloc.sweep.values import listed
from simalloc.trace import OPTIONAL_COLUMNS, Trace, TraceReader, read_trace, write_trace
from simalloc.trace.catalogue import find_trace

BYTES_AN_EVENT: Final = 21
"""What op, object, size and slot take in memory."""
BYTES_A_SLOT: Final = 192
"""What a replay takes for each object that is live at the same time, at most (docs/sweeps.md)."""


@dataclass(frozen=True)
class Source:
    """A trace by its content, and how to get it: `load` is the subclass's.

    `slots` is the number of objects that are live at once at most, `memory` the bytes that loading
    the trace takes.
    """

    name: str
    sha256: str
    events: int
    slots: int
    memory: int

    def load(self) -> Trace:
        """Return the trace; raises `TraceError` or `OSError` if it is not to be had here."""
        raise TraceError(f"{self.name} is in the memory of another process")

    def pack(self) -> bytes:
        """Return the trace as the bytes of a file; raises what `load` raises."""
        with TemporaryDirectory(prefix="simalloc-") as folder:
            path = Path(folder) / "trace.npz"
            write_trace(self.load(), path)
            return path.read_bytes()

    @staticmethod
    def unpack(packed: bytes) -> Trace:
        """Return the trace that `pack` made bytes of."""
        with TemporaryDirectory(prefix="simalloc-") as folder:
            path = Path(folder) / "trace.npz"
            path.write_bytes(packed)
            return read_trace(path)

    def footprint(self, replays: int) -> int:
        """Return the bytes of memory that the trace takes with so many replays under way."""
        return self.memory + replays * self.slots * BYTES_A_SLOT


@dataclass(frozen=True)
class FileSource(Source):
    """A trace in a file of the project's own format."""

    path: Path

    @classmethod
    def of(cls, path: Path) -> FileSource:
        """Return the source of a file by its header; raises `TraceError` if it is no trace."""
        with TraceReader(path) as reader:
            header = reader.header
        events, slots = header.totals.events, header.totals.max_live_objects
        width = BYTES_AN_EVENT + sum(OPTIONAL_COLUMNS[name].itemsize for name in header.columns)
        return cls(header.name, header.sha256, events, slots, events * width, path.resolve())

    def load(self) -> Trace:
        """Read the file, and see that it still holds the same trace."""
        with TraceReader(self.path) as reader:
            if reader.header.sha256 != self.sha256:
                raise TraceError("has become another trace since the plan was read", path=self.path)
            return reader.read()

    def pack(self) -> bytes:
        """Return the file as it is."""
        return self.path.read_bytes()


@dataclass(frozen=True)
class MemorySource(Source):
    """A trace that is in memory already. Pickled, it is a `Source` without its trace."""

    trace: Trace = field(repr=False, compare=False)

    @classmethod
    def of(cls, trace: Trace) -> MemorySource:
        """Return the source of a trace."""
        optional = sum(column.itemsize for column in trace.columns.values())
        memory = len(trace) * (BYTES_AN_EVENT + optional)
        return cls(trace.name, trace.sha256(), len(trace), trace.slots, memory, trace)

    def load(self) -> Trace:
        """Return the trace."""
        return self.trace

    def __reduce__(self) -> tuple[type[Source], tuple[str, str, int, int, int]]:
        return Source, (self.name, self.sha256, self.events, self.slots, self.memory)


def find_sources(given: object, folder: Path) -> tuple[Source, ...]:
    """Return what a plan's `traces` stand for, each trace once.

    Each is a `Trace`, a path or a pattern such as `logs/*.npz` (from `folder`, with `**` for
    folders at any depth), or the bare name of a trace that `simalloc traces` lists. Raises
    `PlanError` for one that cannot be found or is no trace.
    """
    found: list[Source] = []
    for item in listed(given):
        try:
            if isinstance(item, Trace):
                found.append(MemorySource.of(item))
            else:
                found += [FileSource.of(path) for path in _paths(item, folder)]
        except (TraceError, OSError) as error:
            raise PlanError(str(error), key=("traces",), value=item) from None
    return tuple({source.sha256: source for source in reversed(found)}.values())[::-1]


def _paths(item: object, folder: Path) -> list[Path]:
    if not isinstance(item, (str, Path)):
        raise TraceError(f"{item!r} is not a trace, a name or a path")
    if set("*?[") & set(str(item)):
        start = Path(Path(item).anchor or folder)
        pattern = str(Path(item).relative_to(Path(item).anchor))
        paths = sorted(path for path in start.glob(pattern) if path.is_file())
        if not paths:
            raise TraceError(f"no file matches {str(item)!r} in {folder}")
        return paths
    path = folder / item
    return [path if path.is_file() else find_trace(item)]
