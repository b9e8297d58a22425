"""Writer of trace files, one chunk at a time."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import TraceError
from simalloc.files import legible, replacing
from simalloc.plural import kind_of
from simalloc.trace.chunk import CHUNK_EVENTS, pack, to_planes
from simalloc.trace.digests import Digests
from simalloc.trace.events import begins
from simalloc.trace.header import Header, Totals
from simalloc.trace.intake import Intake
from simalloc.trace.optional import Clock, pack_column
from simalloc.trace.provenance import check_provenance
from simalloc.trace.shapes import CheckedEvents, ReadEvents
from simalloc.trace.trace import Trace

_DEFLATE_LEVEL: Final = 6
_TEXT: Final = re.compile(r"\.txt(\.(zst|gz|xz|bz2))?$")


def is_text_name(path: str | os.PathLike[str]) -> bool:
    """Return whether a file's name is a name of plain text, which may be compressed."""
    return bool(_TEXT.search(os.fspath(path)))


def check_trace_name(path: str | os.PathLike[str]) -> None:
    """Raise `TraceError` if the name of a trace file would be a name of plain text."""
    if is_text_name(path):
        own = Path(_TEXT.sub(".npz", os.fspath(path))).name
        reason = f"is the name of a text, but a trace file is written; choose {own}"
        raise TraceError(f"{reason}, and convert it with `simalloc export`", path=path)


class TraceWriter(Intake):
    """Writes a trace of any length in bounded memory. Use it in a `with` statement.

    Events are appended run by run (`append`). At the end of the `with` block, the new file replaces
    any file at `path`. After an error, the new file is removed and the previous file at `path` is
    kept.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        provenance: Mapping[str, Any] | None = None,
        columns: Collection[str] = (),
        private: bool = False,
    ) -> None:
        check_trace_name(path)
        super().__init__(columns)
        self._private = private
        self.path = Path(path)
        self.name = legible(self.path.stem) if name is None else name
        self.provenance = dict(provenance or {})
        self._stack = ExitStack()
        self._digests = Digests(self.columns)
        self._clock = Clock()
        self._chunks = 0
        self._allocated = 0

    def __enter__(self) -> Self:
        stream = self._stack.enter_context(replacing(self.path, private=self._private))
        archive = zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=_DEFLATE_LEVEL)
        self._archive = self._stack.enter_context(archive)
        self._stack.push(self._finish)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    def _finish(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,  # noqa: ARG002 - the signature of an exit
        traceback: TracebackType | None,  # noqa: ARG002 - the signature of an exit
    ) -> None:
        if kind is not None:
            return
        self.flush()
        check_provenance(self.provenance)
        identity = self._digests.identity
        header = Header(
            Totals.of(self.table, self.events),
            identity.events,
            self.name,
            self.provenance,
            self.columns,
            identity.columns,
        )
        self._write("header", np.frombuffer(header.to_json(), np.uint8))

    def _store(self, chunk: CheckedEvents) -> None:
        packed = pack(chunk.op, chunk.object, chunk.size, self._allocated)
        optional = {
            name: pack_column(name, values, self._clock) for name, values in chunk.columns.items()
        }
        self._digests.update(packed, optional)
        for name, column in zip(packed._fields, packed, strict=True):
            self._write(f"{name}.{self._chunks}", column)
        for name, column in optional.items():
            self._write(f"{name}.{self._chunks}", column)
        self._allocated += int(np.count_nonzero(begins(chunk.op)))
        self._chunks += 1

    def _begin(self, column: str) -> None:
        self._digests.begin(column)
        for chunk in range(self._chunks):  # all stored chunks are whole
            planes = to_planes(np.zeros(CHUNK_EVENTS, np.uint8))
            self._digests.update_column(column, planes)
            self._write(f"{column}.{chunk}", planes)

    def _write(self, name: str, array: NDArray[np.uint8]) -> None:
        content = BytesIO()
        np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
        member = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, so that equal traces make equal files
        member.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(member, content.getbuffer(), compresslevel=_DEFLATE_LEVEL)


def write_trace(
    trace: Trace,
    path: str | os.PathLike[str],
    *,
    progress: Callable[[float], None] = lambda _: None,
) -> None:
    """Write a trace to a trace file.

    `progress` is called with the fraction of the events written since its last call. Raises
    `OSError` if the file cannot be written, and `TraceError` if its name is a name of plain text.
    """
    if not isinstance(trace, Trace):
        raise TraceError(f"write_trace() takes a Trace, not {kind_of(trace)}")
    with TraceWriter(
        path, name=trace.name, provenance=trace.provenance, columns=trace.columns
    ) as writer:
        events = max(len(trace), 1)
        for first in range(0, events, CHUNK_EVENTS):
            part = slice(first, first + CHUNK_EVENTS)
            op, key, size = trace.op[part], trace.object[part], trace.size[part]
            columns = {name: column[part] for name, column in trace.columns.items()}
            writer.append(ReadEvents(op, key, size, columns=columns))
            progress(len(op) / events)
