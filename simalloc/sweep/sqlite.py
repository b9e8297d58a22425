"""Opening a file of results, and messages for SQLite's errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Final

from simalloc.errors import ResultsError

APPLICATION: Final = 0x53494D41
"""SQLite application id of a file of results: "SIMA"."""
VERSION: Final = 1
TABLES: Final = ("run", "timeline")
LONGEST: Final = 16 << 20
"""Maximum bytes of a value or row, far more than the text and parameters of an error need."""

PATIENCE: Final = 60.0
"""Maximum seconds that a process waits for the transaction of another process."""

_PRIMARY: Final = 0xFF
_ADVICE: Final = {
    sqlite3.SQLITE_FULL: (
        "the disk is full; the finished runs are stored in the file. Free some space "
        "and repeat the same command to finish the rest"
    ),
    sqlite3.SQLITE_IOERR: (
        "the disk failed or is full; the finished runs are stored in the file. Check "
        "the disk and repeat the same command to finish the rest"
    ),
    sqlite3.SQLITE_BUSY: (
        f"another process has kept it locked for {PATIENCE:.0f} seconds; repeat the "
        "same command when that process has ended"
    ),
    sqlite3.SQLITE_READONLY: "it, or its folder, cannot be written; give another file with -o",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; its folder must exist and be writable",
}


def complaint(path: str | PathLike[str], error: sqlite3.Error) -> ResultsError:
    """Return the `ResultsError` for an error of SQLite, with a remedy."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY
    if code == sqlite3.SQLITE_NOTADB:
        return ResultsError(f"{path}: is not a file of results")
    if code in _ADVICE:
        return ResultsError(f"{path}: {_ADVICE[code]} ({error})")
    return damage(path, str(error))


@contextmanager
def naming_file(path: str | PathLike[str]) -> Iterator[None]:
    """Turn an error of SQLite, or a name not in UTF-8, into an error that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise complaint(path, error) from error
    except UnicodeDecodeError as error:
        raise damage(path, "a name in it is not UTF-8") from error


def damage(path: str | PathLike[str], reason: str) -> ResultsError:
    """Return the error for a damaged file."""
    return ResultsError(
        f"{path}: is damaged ({reason}). Save the readable runs with `simalloc merge "
        f"--salvage {path} -o NEW.sqlite`, then continue with NEW.sqlite"
    )


_OTHER_KINDS: Final = {
    ".csv", ".html", ".json", ".md", ".npz", ".parquet", ".py", ".tex", ".toml", ".txt", ".xlsx",
}  # fmt: skip
"""Suffixes of files that are not databases."""


def connect(
    path: str | PathLike[str], schema: Iterable[str], *, create: bool, check: bool = True
) -> sqlite3.Connection:
    """Open a file of results in autocommit mode, after checking that it is intact.

    If `create`, a missing or empty file gets the `schema`. No other file is changed.
    """
    if Path(path).is_dir():
        raise ResultsError(f"{path}: is a folder, not a file of results")
    begins = create and not (Path(path).exists() and Path(path).stat().st_size)
    if begins and Path(path).suffix in _OTHER_KINDS:
        raise ResultsError(
            f"{path}: results are kept in an SQLite file; give it a name such as "
            f"{Path(path).with_suffix('.sqlite')} and write other formats with `simalloc results`"
        )
    if not create and not Path(path).exists():
        raise ResultsError(f"{path}: file of results not found")
    connection = sqlite3.connect(
        path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        connection.execute("PRAGMA trusted_schema = OFF")
        if create:
            _create(connection, schema)
        _check_identity(path, connection)
        _check_tables(path, connection)
        if check:
            _check_pages(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection, schema: Iterable[str]) -> None:
    """Create the tables in an empty file. Only one of several processes creates them."""
    connection.execute("BEGIN IMMEDIATE")
    (things,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not things and not _pragma(connection, "application_id"):
        for statement in schema:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _check_identity(path: str | PathLike[str], connection: sqlite3.Connection) -> None:
    if _pragma(connection, "application_id") != APPLICATION:
        raise ResultsError(
            f"{path}: is not a file of results: it is empty, or another program's database"
        )
    version = _pragma(connection, "user_version")
    if version != VERSION:
        raise ResultsError(
            f"{path}: its format is number {version}; this simalloc reads number {VERSION}"
        )


def _check_tables(path: str | PathLike[str], connection: sqlite3.Connection) -> None:
    """Refuse a file in which reading or writing rows can run code from the file."""
    kinds = connection.execute(
        "SELECT type, sql LIKE 'CREATE TABLE%' FROM sqlite_master WHERE tbl_name IN (?, ?) "
        "AND type IN ('table', 'view', 'trigger')",
        TABLES,
    )
    computed = [
        column
        for table in TABLES
        for *_, column in connection.execute(f"PRAGMA table_xinfo ({table})")
        if column
    ]
    if sorted(kinds.fetchall()) != [("table", 1), ("table", 1)] or computed:
        raise ResultsError(
            f"{path}: was altered and is not read: its {' and '.join(TABLES)} are not plain "
            "tables, or have triggers or computed columns"
        )


def _check_pages(path: str | PathLike[str], connection: sqlite3.Connection) -> None:
    (verdict,) = connection.execute("PRAGMA quick_check (1)").fetchone()
    if verdict != "ok":
        raise damage(path, verdict.splitlines()[-1])


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
