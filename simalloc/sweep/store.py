"""Results of sweeps in an SQLite file, with a row per run.

Every change is one transaction in SQLite's safest mode (a rollback journal, flushed to the disk),
so that the file is never half-changed, whatever happens to the process. Between transactions, the
results are one file. The file may be on a network file system, and any number of processes may
write to it.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from threading import Lock
from types import NoneType
from typing import Any, Final, Self

import numpy as np

from simalloc.heap import Timeline
from simalloc.heap.running.run_from_states import MAX_INTERVALS
from simalloc.sweep.sqlite import connect, damage, naming_file
from simalloc.sweep.task import Key, Outcome, Task, key_of

_OF_KEY: Final = "FROM run LEFT JOIN timeline ON timeline.run = run.id WHERE " + " AND ".join(
    f"{name} = ?" for name in Key._fields
)
_STATE: Final = f"SELECT run.id, error IS NOT NULL, timeline.run IS NOT NULL {_OF_KEY}"

SCHEMA: Final = (
    """CREATE TABLE run (
      id INTEGER PRIMARY KEY,
      trace_sha256 TEXT NOT NULL,
      policy TEXT NOT NULL,
      scale INTEGER NOT NULL,
      realloc TEXT NOT NULL,
      code TEXT NOT NULL,
      trace TEXT NOT NULL,
      parameters TEXT NOT NULL,
      finished TEXT NOT NULL,
      host TEXT NOT NULL,
      error TEXT,
      UNIQUE (trace_sha256, policy, scale, realloc, code))""",
    """CREATE TABLE timeline (
      run INTEGER PRIMARY KEY REFERENCES run (id),
      interval INTEGER NOT NULL,
      extremes BLOB NOT NULL)""",
)
"""Schema without the figures. The first run with a figure adds a column for it to `run`."""


_REQUIRED: Final = {
    **dict.fromkeys(Key._fields, str),
    "scale": int,
    "id": int,
    **dict.fromkeys(("trace", "parameters", "finished", "host"), str),
}
"""Columns in which every run has a value, with the type of the value."""
_MAX_EXTREMES: Final = MAX_INTERVALS * 4 * np.dtype("<f8").itemsize
"""Size of the longest timeline in bytes."""
_MAX_PACKED: Final = _MAX_EXTREMES + (1 << 10)
"""Maximum bytes of a deflated timeline. Incompressible data grow by 5 bytes per 16 KiB."""
_PLAIN: Final = (str, int, float, NoneType)
"""Types that a figure or a parameter can have."""
_LARGEST: Final = 1e30
"""Largest valid figure. No run has a larger one, and statistics of such figures would overflow."""


def pack_timeline(timeline: Timeline) -> bytes:
    """Return the minimum and maximum of live and heap bytes of each interval: float64, deflated."""
    extremes = np.column_stack(
        (timeline.live_low, timeline.live_high, timeline.heap_low, timeline.heap_high)
    )
    return zlib.compress(extremes.astype("<f8").tobytes())


def unpack_timeline(interval: int, packed: bytes) -> Timeline:
    """Return the timeline from the bytes of `pack_timeline`.

    At most the size of the longest timeline is inflated. Raises `ValueError` if the bytes are not a
    timeline.
    """
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(packed, _MAX_EXTREMES)
        extremes = np.frombuffer(content, "<f8").reshape(-1, 4)
    except (zlib.error, TypeError, ValueError) as error:
        raise ValueError(f"a timeline is damaged: {error}") from error
    if not inflater.eof:
        raise ValueError("a timeline is cut off or too long")
    if not isinstance(interval, int) or interval < 1:
        raise ValueError(f"a timeline has the interval {interval!r}")
    return Timeline(interval, *(extremes[:, column] for column in range(4)))


class Store:
    """A file of results, open for reading and writing. Use it in a `with` statement.

    If `create`, a missing file is created. Raises `ResultsError`, with the remedy, if the file is
    not a file of results, is damaged, or cannot be written. Any thread may use it.
    """

    def __init__(self, path: str | PathLike[str], *, create: bool = False) -> None:
        self.path = path
        self._lock = Lock()
        with self._errors():
            self._connection = connect(path, SCHEMA, create=create)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def is_done(self, task: Task, *, retry_failed: bool = False) -> bool:
        """Return whether the file has all figures of a task, or an error that is not retried."""
        return not self.missing([task], retry_failed=retry_failed)

    def missing(self, tasks: Iterable[Task], *, retry_failed: bool = False) -> list[Task]:
        """Return the tasks that are not done, in the same order."""
        with self._lock, self._errors():
            columns = self._columns()
            return [task for task in tasks if self._is_missing(task, columns, retry_failed)]

    def _is_missing(self, task: Task, columns: set[str], retry_failed: bool) -> bool:  # noqa: FBT001
        found = self._connection.execute(_STATE, task.key).fetchone()
        if found is None:
            return True
        run, failed, has_timeline = found
        if failed:
            return retry_failed
        return (task.timeline and not has_timeline) or not self._has(run, task.figures, columns)

    def _has(self, run: int, figures: Iterable[str], columns: set[str]) -> bool:
        """Return whether a run has all of the figures."""
        figures = list(figures)
        if not columns.issuperset(figures):
            return False
        named = ", ".join(map(_quoted, figures)) or "id"
        query = f"SELECT {named} FROM run WHERE id = ?"  # noqa: S608 - quoted names
        return None not in self._connection.execute(query, (run,)).fetchone()

    def _columns(self) -> set[str]:
        described = self._connection.execute("PRAGMA table_info (run)")
        return {_folded(column[1]) for column in described}

    def failed(self, tasks: Iterable[Task]) -> int:
        """Return the number of tasks that ended with an error."""
        with self._lock, self._errors():
            found = (self._connection.execute(_STATE, task.key).fetchone() for task in tasks)
            return sum(state is not None and state[1] for state in found)

    def add(self, outcomes: Iterable[Outcome]) -> int:
        """Write outcomes, all of them or none, and return the number of new runs.

        A run that is already in the file is not written again, except that another outcome replaces
        a failed run, and that missing figures are added.
        """
        with self._lock, self._errors(), self._transaction():
            columns = self._columns()
            return sum([self._add(outcome, columns) for outcome in outcomes])

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of all runs in the order in which they were written.

        A row has the columns of the file, `id` first. A figure that the run lacks is None.
        """
        with self._reading():
            cursor = self._connection.execute("SELECT * FROM run ORDER BY id")
            columns = [column[0] for column in cursor.description]
            return [plain_row(columns, values) for values in cursor]

    def outcomes(self) -> list[Outcome]:
        """Return all runs with their timelines, in the order in which they were written."""
        return [outcome_of(row, self.timeline(row["id"])) for row in self.rows()]

    def timeline(self, run: int) -> Timeline | None:
        """Return the timeline of the run with the `id` `run`, or None if it was not kept."""
        with self._reading():
            return timeline_of(self._connection, run)

    def _add(self, outcome: Outcome, columns: set[str]) -> bool:
        found = self._connection.execute(_STATE, outcome.key).fetchone()
        run, is_new, _ = found or (None, True, False)
        if is_new:
            if run is not None:
                self._connection.execute("DELETE FROM run WHERE id = ?", (run,))
            run = self._insert(outcome.row, columns)
        elif not outcome.failed:
            self._complete(run, outcome.row, columns)
        if outcome.timeline is not None:
            self._connection.execute(
                "INSERT OR IGNORE INTO timeline VALUES (?, ?, ?)",
                (run, outcome.timeline.interval, pack_timeline(outcome.timeline)),
            )
        return is_new

    def _insert(self, row: dict[str, Any], columns: set[str]) -> int | None:
        """Write a row."""
        self._add_columns(row, columns)
        names = ", ".join(map(_quoted, row))
        marks = ", ".join("?" * len(row))
        values = (json.dumps(value) if isinstance(value, dict) else value for value in row.values())
        return self._connection.execute(
            f"INSERT INTO run ({names}) VALUES ({marks})",  # noqa: S608 - quoted names
            tuple(values),
        ).lastrowid

    def _complete(self, run: int | None, row: dict[str, Any], columns: set[str]) -> None:
        """Write the figures of a row that the run lacks."""
        figures = {name: value for name, value in row.items() if name not in _REQUIRED}
        self._add_columns(figures, columns)
        changes = ", ".join(f"{_quoted(name)} = coalesce({_quoted(name)}, ?)" for name in figures)
        self._connection.execute(
            f"UPDATE run SET {changes} WHERE id = ? AND error IS NULL",  # noqa: S608 - quoted names
            (*figures.values(), run),
        )

    def _add_columns(self, names: Iterable[str], columns: set[str]) -> None:
        """Add columns for figures that are new in the file."""
        for column in [name for name in names if _folded(name) not in columns]:
            columns.add(_folded(column))
            self._connection.execute(f"ALTER TABLE run ADD COLUMN {_quoted(column)}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Make the changes of a `with` block in one transaction, which a failure undoes."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with naming_file(self.path):
            yield

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock, self._errors():
            try:
                yield
            except ValueError as error:
                raise damage(self.path, str(error)) from error


def _quoted(column: str) -> str:
    """Return the quoted name of a column for SQL. Files from other people may have any names."""
    return '"' + column.replace('"', '""') + '"'


def _folded(column: str) -> str:
    """Return the name of a column as SQLite compares it, without the case of ASCII letters."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in column)


def timeline_of(connection: sqlite3.Connection, run: int) -> Timeline | None:
    """Return the timeline of a run, if it was kept. Raises `ValueError` if it is damaged."""
    query = "SELECT interval, substr(extremes, 1, ?) FROM timeline WHERE run = ?"
    found = connection.execute(query, (_MAX_PACKED, run)).fetchone()
    return unpack_timeline(*found) if found else None


def plain_row(columns: list[str], values: Iterable[Any]) -> dict[str, Any]:
    """Return a row of the table `run` by column.

    Raises `ValueError` if a column is missing, has a value of the wrong type or is too large, or if
    the parameters are not a JSON object of plain values.
    """
    row = dict(zip(columns, values, strict=True))
    invalid = [name for name, kind in _REQUIRED.items() if not isinstance(row.get(name), kind)]
    if invalid:
        raise ValueError(f"a run has no valid {invalid[0]}")
    odd = [name for name, value in row.items() if not isinstance(value, _PLAIN)]
    if odd:
        raise ValueError(f"a run's {odd[0]} is neither text nor a number")
    large = [
        name for name, value in row.items()
        if isinstance(value, float) and not abs(value) <= _LARGEST
    ]  # fmt: skip
    if large:
        raise ValueError(f"a run's {large[0]} is {row[large[0]]}, which is too large")
    row["parameters"] = _parameters(row["parameters"])
    return row


def _parameters(text: str) -> dict[str, Any]:
    """Return the parameters of a policy. Raises `ValueError` if the text is not valid."""
    try:
        parameters = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a run's parameters are not JSON: {error}") from error
    values = parameters.values() if isinstance(parameters, dict) else [parameters, {}]
    if not all(isinstance(value, _PLAIN) for value in values):
        raise ValueError("a run's parameters are not a JSON object of text and numbers")
    return dict(parameters)


def outcome_of(row: dict[str, Any], timeline: Timeline | None) -> Outcome:
    """Return the outcome that a row of the table `run` describes."""
    known = {name: value for name, value in row.items() if name != "id" and value is not None}
    return Outcome(key_of(row), {**known, "error": row["error"]}, timeline)
