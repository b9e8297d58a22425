"""Untrusted files of results are refused with a message, or read within limits."""

import math
import sqlite3
import zlib
from contextlib import closing

import pytest
from command import simalloc

from simalloc.errors import ResultsError
from simalloc.sweep.merge import merge
from simalloc.sweep.results import Results
from simalloc.sweep.store import Store
from simalloc.sweep.task import carry_out


@pytest.fixture
def stranger(plan, tmp_path):
    """Return a function that makes a file of three runs and executes SQL on it."""
    tasks = plan.tasks()[:3]

    def make(*statements):
        path = tmp_path / "stranger.sqlite"
        with Store(path, create=True) as store:
            store.add(carry_out(task, task.source.load()) for task in tasks)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for sql, *values in statements:
                connection.execute(sql, values)
        return path

    return make


def commands(path, output):
    """Yield the result of each command that reads results."""
    yield simalloc("results", path)
    yield simalloc("results", path, "--format", "csv")
    yield simalloc("results", path, "--rank", "4")
    yield simalloc("compare", path, path)
    yield simalloc("merge", path, "-o", output)


BOMB = zlib.compress(bytes(64 << 20), 9)
ALTERED = [
    ("CREATE VIEW run AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
     "SELECT old.* FROM old, c"),
    "CREATE VIEW run AS SELECT * FROM old",
    "CREATE TABLE run (id INTEGER PRIMARY KEY, x AS (hex(zeroblob(1000000))))",
]  # fmt: skip


@pytest.mark.parametrize("made", ALTERED)
def test_what_is_no_plain_table_is_refused(stranger, tmp_path, made):
    path = stranger(("ALTER TABLE run RENAME TO old",), (made,))
    for done in (
        *commands(path, tmp_path / "merged.sqlite"),
        simalloc("merge", "--salvage", path, "-o", tmp_path / "merged.sqlite"),
    ):
        assert done.exit_code == 2
        assert (
            "was altered and is not read: its run and timeline are not plain tables" in done.stderr
        )


def test_a_trigger_is_refused(stranger):
    path = stranger(("CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END",))
    with pytest.raises(ResultsError, match="was altered"):
        Store(path)


def test_a_view_beside_the_tables_is_left_alone(stranger):
    assert len(Results.read(stranger(("CREATE VIEW mine AS SELECT trace FROM run",)))) == 3


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("parameters", "{bad", "a run's parameters are not JSON"),
        ("parameters", "[1]", "a run's parameters are not a JSON object"),
        ("parameters", "[" * 100_000, "a run's parameters are not JSON"),
        (
            "parameters",
            '{"a": [1]}',
            "a run's parameters are not a JSON object of text",
        ),
        ("parameters", b"{}", "a run has no valid parameters"),
        ("trace", b"\xff\0", "a run has no valid trace"),
        ("scale", "many", "a run has no valid scale"),
        ("peak_heap_bytes", b"\0", "a run's peak_heap_bytes is neither text nor a number"),
        ("seconds", math.inf, "a run's seconds is inf, which is too large"),
        ("fragmentation_4", -1e200, "a run's fragmentation_4 is -1e+200, which is too large"),
    ],
)
def test_values_of_the_wrong_type_are_errors(stranger, tmp_path, column, value, says):
    path = stranger((f"UPDATE run SET {column} = ? WHERE id = 2", value))
    for done in commands(path, tmp_path / "merged.sqlite"):
        assert done.exit_code == 2
        assert f"{path}: is damaged ({says}" in done.stderr
    saved = merge([path], tmp_path / "saved.sqlite", damaged=True)
    assert (saved.new, saved.lost) == (2, 1)


@pytest.mark.parametrize(
    ("extremes", "interval", "says"),
    [
        (BOMB, 1, "cut off or too long"),
        (zlib.compress(bytes(64))[:-5], 1, "is cut off"),
        (zlib.compress(bytes(65)), 1, "a timeline is damaged"),
        (b"\0", 1, "a timeline is"),
        ("text", 1, "a timeline is damaged"),
        (zlib.compress(bytes(64)), "x", "has the interval 'x'"),
        (zlib.compress(bytes(64)), 0, "has the interval 0"),
    ],
)
def test_timelines_are_bounded(stranger, tmp_path, extremes, interval, says):
    path = stranger(("INSERT INTO timeline VALUES (1, ?, ?)", interval, extremes))
    done = simalloc("merge", path, "-o", tmp_path / "merged.sqlite")
    assert done.exit_code == 2
    assert says in done.stderr
    assert merge([path], tmp_path / "saved.sqlite", damaged=True).new == 3


def test_names_of_columns_are_quoted(stranger, tmp_path):
    names = ['a"b', 'x" INTEGER DEFAULT 7 --', "peak_HEAP_bytes2", "select"]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    path = stranger(
        *((f"ALTER TABLE run ADD COLUMN {name}",) for name in quoted),
        *((f"UPDATE run SET {name} = 5",) for name in quoted),
    )
    merged = tmp_path / "merged.sqlite"
    assert simalloc("merge", path, "-o", merged).exit_code == 0
    with Store(merged) as store:
        assert [[row[name] for name in names] for row in store.rows()] == [[5] * 4] * 3


def test_a_column_in_other_letters_is_the_same_column(stranger, tmp_path):
    plain = stranger()
    merged = tmp_path / "merged.sqlite"
    merge([plain], merged)
    plain.unlink()
    renamed = stranger(
        ("ALTER TABLE run RENAME COLUMN peak_heap_bytes TO PEAK_heap_bytes",),
        ("UPDATE run SET scale = 77",),
    )
    assert merge([renamed], merged).new == 3
    with Store(merged) as store:
        assert all(row["peak_heap_bytes"] > 0 for row in store.rows())


def test_a_name_that_is_no_text_is_damage(stranger, tmp_path):
    path = stranger(("ALTER TABLE run ADD COLUMN marked",))
    path.write_bytes(path.read_bytes().replace(b"marked", b"mark\xff\xfe"))
    for done in (
        *commands(path, tmp_path / "merged.sqlite"),
        simalloc("merge", "--salvage", path, "-o", tmp_path / "merged.sqlite"),
    ):
        assert done.exit_code == 2
        assert f"{path}: is damaged (" in done.stderr
