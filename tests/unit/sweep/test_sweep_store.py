"""The file of results: each written result stays exactly once, and impossible ones are reported."""

import errno
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from simalloc.errors import ResultsError
from simalloc.sweep.salvage import salvage
from simalloc.sweep.store import Store
from simalloc.sweep.task import carry_out, failure


@pytest.fixture
def tasks(plan):
    return plan.tasks()


@pytest.fixture
def outcomes(tasks):
    return [carry_out(task, task.source.load()) for task in tasks]


def rows_of(path):
    with Store(path) as store:
        return store.rows()


def test_what_is_added_is_read_again(results, tasks, outcomes):
    with Store(results, create=True) as store:
        assert store.missing(tasks) == tasks
        assert store.add(outcomes) == len(tasks)
        assert store.missing(tasks) == []
    rows = rows_of(results)
    assert [
        {name: row[name] for name in outcome.row}
        for row, outcome in zip(rows, outcomes, strict=True)
    ] == [outcome.row for outcome in outcomes]


def test_nothing_is_counted_twice(results, outcomes):
    with Store(results, create=True) as store:
        store.add(outcomes)
        again = [replace(outcome, row={**outcome.row, "seconds": -1.0}) for outcome in outcomes]
        assert store.add([*again, *again]) == 0
        assert all(row["seconds"] >= 0 for row in store.rows())
        assert len(store.rows()) == len(outcomes)


def test_a_failed_run_makes_way_and_is_retried_on_request(results, tasks, outcomes):
    failed = [failure(task, ValueError("no luck")) for task in tasks]
    with Store(results, create=True) as store:
        store.add(failed)
        assert store.failed(tasks) == len(tasks)
        assert store.missing(tasks) == []
        assert store.missing(tasks, retry_failed=True) == tasks
        assert {row["error"] for row in store.rows()} == {"ValueError: no luck"}
        assert store.add(outcomes[:2]) == 2
        assert store.add(failed[:2]) == 0
        assert store.failed(tasks) == len(tasks) - 2


def test_a_timeline_is_kept_and_asked_for(results, tasks):
    with Store(results, create=True) as store:
        task = tasks[0]
        store.add([carry_out(task, task.source.load())])
        with_timeline = replace(task, timeline=True)
        assert store.missing([task]) == []
        assert store.missing([with_timeline]) == [with_timeline]
        outcome = carry_out(with_timeline, task.source.load())
        assert store.add([outcome]) == 0
        assert store.missing([with_timeline]) == []
        [row] = store.rows()
        kept = store.timeline(row["id"])
    assert kept.interval == outcome.timeline.interval
    for name in ("live_low", "live_high", "heap_low", "heap_high"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(outcome.timeline, name))


def test_all_or_nothing(results, outcomes):
    def and_then_fails():
        yield from outcomes
        raise KeyboardInterrupt

    with Store(results, create=True) as store:
        with pytest.raises(KeyboardInterrupt):
            store.add(and_then_fails())
        assert store.rows() == []
        store.add(outcomes[:1])
    assert len(rows_of(results)) == 1


def test_a_full_disk_loses_nothing_that_was_written(results, outcomes):
    with Store(results, create=True) as store:
        store.add(outcomes[:1])
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        more = [
            replace(outcome, key=key, row={**outcome.row, **key._asdict()})
            for number in range(100)
            for outcome in outcomes
            for key in [outcome.key._replace(scale=100 + number)]
        ]
        with pytest.raises(ResultsError, match="the disk is full; the finished runs are stored"):
            store.add(more)
        assert len(store.rows()) == 1
    assert len(rows_of(results)) == 1


def test_new_figures_become_new_columns(results, outcomes):
    with Store(results, create=True) as store:
        store.add(outcomes[:1])
        store.add([replace(outcomes[1], row={**outcomes[1].row, "shine": 0.5})])
        assert [row["shine"] for row in store.rows()] == [None, 0.5]


@pytest.mark.parametrize(
    "content", [b"a text of mine, not to be touched", b"SQLite format 3\0 or not"]
)
def test_another_file_is_refused_and_not_touched(results, content):
    results.write_bytes(content)
    for create in (True, False):
        with pytest.raises(ResultsError, match="is not a file of results"):
            Store(results, create=create)
    assert results.read_bytes() == content


def test_another_database_is_refused_and_not_touched(results):
    with sqlite3.connect(results) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = results.read_bytes()
    with pytest.raises(ResultsError, match="or another program's database"):
        Store(results, create=True)
    assert results.read_bytes() == before


def test_a_file_of_another_version_is_refused(results):
    Store(results, create=True).__exit__()
    with sqlite3.connect(results) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ResultsError, match="format is number 99"):
        Store(results)


def test_a_missing_file_is_not_made_by_reading(results):
    with pytest.raises(ResultsError, match="file of results not found"):
        Store(results)
    assert not results.exists()


def test_damage_is_noticed_and_says_what_to_do(results, outcomes):
    with Store(results, create=True) as store:
        store.add(outcomes)
    content = bytearray(results.read_bytes())
    content[5000:9000] = b"\xff" * 4000
    results.write_bytes(content)
    with pytest.raises(ResultsError, match=r"is damaged .* `simalloc merge --salvage"):
        Store(results)


def test_a_locked_file_says_so(results, outcomes, monkeypatch):
    monkeypatch.setattr("simalloc.sweep.sqlite.PATIENCE", 0.05)
    with Store(results, create=True) as store, Store(results) as other:
        store._connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(ResultsError, match="another process has kept it locked"):
            other.add(outcomes)
        store._connection.execute("ROLLBACK")
        assert other.add(outcomes) == len(outcomes)


@pytest.mark.parametrize("content", [b"", b"\xff" * 3000], ids=len)
def test_nothing_is_saved_of_a_file_that_never_was_one(tmp_path, content):
    path = tmp_path / "other.sqlite"
    path.write_bytes(content)
    with pytest.raises(ResultsError, match=r"other\.sqlite: is not a file of results"):
        salvage(path)


def test_a_header_that_says_too_many_pages_loses_no_rows(results, outcomes, monkeypatch):
    def refuse(path, _):
        raise OSError(errno.EFBIG, "File too large", path)

    with Store(results, create=True) as store:
        store.add(outcomes)
    content = bytearray(results.read_bytes())
    content[28:32] = b"\xff" * 4
    results.write_bytes(content)
    monkeypatch.setattr("simalloc.sweep.salvage.os.truncate", refuse)  # as in most file systems
    found, unreadable = salvage(results)
    assert [outcome.key for outcome in found] == [outcome.key for outcome in outcomes]
    assert unreadable == 0


def test_a_folder_is_told_from_a_file_of_results(tmp_path):
    with pytest.raises(ResultsError, match="is a folder"):
        Store(tmp_path)


def test_what_has_no_end_is_not_salvaged():
    with pytest.raises(ResultsError, match="is not a file of results"):
        salvage("/dev/zero")
