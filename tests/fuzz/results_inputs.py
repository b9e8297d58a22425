"""Inputs for fuzzing files of results: damaged or forged SQLite files."""

import io
import json
import random
import sqlite3
import tempfile
import zlib
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import inputs

from simalloc.errors import SimallocError
from simalloc.report.table import FORMATS, write_table
from simalloc.sweep.compare import compare
from simalloc.sweep.merge import merge
from simalloc.sweep.planfile import plan_of
from simalloc.sweep.results import Results
from simalloc.sweep.store import Store
from simalloc.sweep.tables import failures_table, records
from simalloc.sweep.task import carry_out
from simalloc.trace import Trace, write_trace

VALUES = (
    *(None, "", "x", "1", b"\xff\0", -1, 0, 1, (1 << 63) - 1, 1e300, float("inf"), 1e-320),
    *("[1]", "{bad", '{"a": [1]}', "[" * 100_000, '{"growth": 4096}', '{"a": 1e999}', "\x1b]0;t"),
    *(zlib.compress(bytes(64 << 20), 9), zlib.compress(bytes(64)), zlib.compress(b"\xff" * 64)),
)  # fmt: skip
NAMES = ('a"b', 'x" INTEGER DEFAULT 7 --', "select", "TRACE2", "\x1b[31m", "=1", "")
STATEMENTS = (
    "DELETE FROM run",
    "DROP TABLE timeline",
    "ALTER TABLE run DROP COLUMN host",
    "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END",
    "CREATE INDEX i ON run (hex(zeroblob(id + 1000)))",
    "CREATE VIEW v AS SELECT * FROM run",
    "UPDATE run SET id = id - 5",
    "PRAGMA user_version = 9",
)


def check_results(number):
    """Read a changed file of results by every command, or expect a `SimallocError`."""
    rng = random.Random(f"results {number}")
    with tempfile.TemporaryDirectory() as folder:
        path, sound = Path(folder) / "changed.sqlite", Path(folder) / "sound.sqlite"
        for each in (path, sound):
            each.write_bytes(_sample())
        if rng.random() < 0.7:
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                for _ in range(rng.choice((1, 1, 2, 5))):
                    with suppress(sqlite3.Error):
                        connection.execute(*_change(rng, connection))
        else:
            content = bytearray(path.read_bytes())
            inputs.mutate(rng, content)
            path.write_bytes(content)
        read_results(path, sound)


def read_results(path, sound):
    """Read a file of results with every command that accepts one; `sound` is a valid file."""
    for use in (_print, _rank, _pivot, _compare, _merge, _salvage, _add):
        with suppress(SimallocError):
            use(path, sound)


def _print(path, _):
    results = Results.read(path)
    json.dumps(records(results))
    for table in (results.table(), results.records_table(), failures_table(results.failed)):
        for form in FORMATS:
            write_table(table, form, io.StringIO())
    for row in results:
        results.timeline(row)


def _rank(path, _):
    write_table(Results.read(path).rank(4).table(), "table", io.StringIO())


def _pivot(path, _):
    write_table(Results.read(path).pivot("seconds").table(), "table", io.StringIO())


def _compare(path, sound):
    found = compare(Results.read(path), Results.read(sound))
    write_table(found.table(every=True), "table", io.StringIO())


def _merge(path, sound):
    merge([path, sound], path.with_name("merged.sqlite"))


def _salvage(path, _):
    merge([path], path.with_name("saved.sqlite"), damaged=True)


def _add(path, _):
    with Store(path, create=True) as store:
        store.add(_outcomes())


def _change(rng, connection):
    """Return a statement that changes the file, and its values."""
    if rng.random() < 0.2:
        return (rng.choice(STATEMENTS), ())
    if rng.random() < 0.2:
        name = rng.choice(NAMES).replace('"', '""')
        return (f'ALTER TABLE run ADD COLUMN "{name}" DEFAULT {rng.choice((1, "NULL"))}', ())
    table = rng.choice(("run", "run", "timeline"))
    columns = [column[1] for column in connection.execute(f"PRAGMA table_info ({table})")]
    if not columns:
        return (rng.choice(STATEMENTS), ())
    name = rng.choice(columns).replace('"', '""')
    which = rng.choice(("", f" WHERE rowid = {rng.randrange(5)}"))
    return (f'UPDATE {table} SET "{name}" = ?{which}', (rng.choice(VALUES),))


@cache
def _outcomes():
    """Return the outcomes of four runs, with their timelines."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("one", "three"):
            sizes = [100, len(name), 0, 5000]
            trace = Trace.from_events([0, 0, 1, 0], [0, 1, 0, 2], sizes, name=name)
            write_trace(trace, Path(folder) / f"{name}.npz")
        document = {
            "traces": ["*.npz"],
            "keep": ["timelines"],
            "policies": {"first-fit-ao": {"growth": ["4K"]}, "lea-2.6.1": {}},
        }
        tasks = plan_of(document, Path(folder)).tasks()
        return [carry_out(task, task.source.load()) for task in tasks]


@cache
def _sample():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sound.sqlite"
        with Store(path, create=True) as store:
            store.add(_outcomes())
        return path.read_bytes()


CHECKS = {"results": check_results}
"""The reader of files of results, by the name that fuzzing uses."""
