"""Reading the intact rows of a damaged file of results."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import struct
from contextlib import closing, suppress
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from simalloc.errors import ResultsError
from simalloc.heap import Timeline
from simalloc.sweep.sqlite import connect, naming_file
from simalloc.sweep.store import outcome_of, plain_row, timeline_of
from simalloc.sweep.task import Outcome

SMALLEST_ROW: Final = 64
"""Minimum bytes of a row: the length of its trace's SHA-256."""

_MAGIC: Final = b"SQLite format 3\0"
_HEADER: Final = struct.Struct(">16xH10xI")
"""Page size (1 means 65,536 bytes) and number of pages in SQLite's file header, after its magic."""
_PAGES: Final = 28
"""Offset of the number of pages in the header."""
_SHA256: Final = re.compile("[0-9a-f]{64}")
_DAMAGE: Final = (sqlite3.Error, ValueError, TypeError, KeyError)


def salvage(path: str | PathLike[str]) -> tuple[list[Outcome], int]:
    """Return the intact runs of a damaged file, and the number of damaged places.

    Every row is read separately, so a damaged page loses only its own rows. Raises `ResultsError`
    if the layout of the file cannot be read.
    """
    found, unreadable = [], 0
    with (
        naming_file(path),
        TemporaryDirectory(prefix="simalloc-") as folder,
        closing(
            connect(_copy(Path(path), Path(folder)), (), create=False, check=False)
        ) as connection,
    ):
        names = [column[1] for column in connection.execute("PRAGMA table_info (run)")]
        for run in range(1, Path(path).stat().st_size // SMALLEST_ROW + 1):
            try:
                row = _row(connection, names, run)
            except _DAMAGE:
                unreadable += 1
                continue
            if row is not None:
                found.append(outcome_of(row, _timeline(connection, run)))
    return found, unreadable


def _copy(path: Path, folder: Path) -> Path:
    """Return a copy of a file with its journal, padded with zeros if its end is missing.

    SQLite reads nothing from a file that is shorter than its header states. The copy can be padded,
    and the damaged file stays unchanged.
    """
    with path.open("rb") as stream:
        header = stream.read(_HEADER.size)
    if not header.startswith(_MAGIC):
        raise ResultsError(f"{path}: is not a file of results")
    copy = folder / path.name
    shutil.copyfile(path, copy)
    journal = path.with_name(f"{path.name}-journal")
    if journal.exists():
        shutil.copyfile(journal, folder / journal.name)
    if len(header) == _HEADER.size:
        page_size, pages = _HEADER.unpack(header)
        _fill_up(copy, (page_size if page_size > 1 else 1 << 16) * pages)
    return copy


def _fill_up(copy: Path, size: int) -> None:
    """Pad a file to the size in its header, or remove the size from the header.

    If this size is impossible, the header is damaged. SQLite then uses the length of the file.
    """
    try:
        os.truncate(copy, max(size, copy.stat().st_size))
    except OSError:
        with copy.open("rb+") as stream:
            stream.seek(_PAGES)
            stream.write(bytes(4))


def _row(connection: sqlite3.Connection, names: list[str], run: int) -> dict[str, Any] | None:
    """Return a row, or None if it does not exist. Raises one of `_DAMAGE` for a damaged row."""
    values = connection.execute("SELECT * FROM run WHERE id = ?", (run,)).fetchone()
    if values is None:
        return None
    row = plain_row(names, values)
    if not _SHA256.fullmatch(row["trace_sha256"]):
        raise ValueError("its trace has no SHA-256")
    return row


def _timeline(connection: sqlite3.Connection, run: int) -> Timeline | None:
    with suppress(*_DAMAGE):
        return timeline_of(connection, run)
    return None
