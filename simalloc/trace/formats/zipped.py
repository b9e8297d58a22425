"""Logs in zip archives with a single file."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import NamedTuple, cast

from simalloc.errors import TraceError
from simalloc.trace.archive import ZIP_START


class Packed(NamedTuple):
    """A file in an archive: its content, its name in messages, and its number of bytes."""

    file: BufferedReader
    name: str
    size: int


@contextmanager
def only_file_in(raw: BufferedReader, name: str) -> Iterator[Packed | None]:
    """Open the only file of a zip archive. Yields None for a file that is not an archive.

    Folders, and files that macOS adds to an archive, are ignored. Raises `TraceError` for several
    files, for no file, for an archive that cannot be read, and for a trace of simalloc, which is an
    archive too.
    """
    if raw.peek(len(ZIP_START))[: len(ZIP_START)] != ZIP_START:
        yield None
        return
    try:
        with zipfile.ZipFile(raw) as archive:
            member = _only(archive, name)
            with archive.open(member) as file:
                inside = f"{name}/{member.filename}"
                yield Packed(cast("BufferedReader", BufferedReader(file)), inside, member.file_size)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise TraceError(f"the zip archive cannot be read: {error}", path=name) from None


def _only(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    files = [
        each
        for each in archive.infolist()
        if not each.is_dir() and not each.filename.startswith(("__MACOSX/", "."))
    ]
    if any(each.filename == "header.npy" for each in files):
        raise TraceError("is a trace of simalloc and needs no import", path=name)
    if len(files) != 1:
        raise TraceError(
            f"is a zip archive of {len(files)} files; unpack it and import the log among them",
            path=name,
        )
    return files[0]
