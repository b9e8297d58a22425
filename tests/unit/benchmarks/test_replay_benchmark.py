"""The benchmark's arithmetic and its files; never the time."""

import json
import math
import shutil

import pytest
from click.testing import CliRunner

from benchmarks import replay
from benchmarks.contest import Contest, hold
from benchmarks.instructions import count
from benchmarks.standings import geometric_mean, headline, nanoseconds, ratios, standings
from simalloc.errors import SimallocError
from simalloc.heap.real import GLIBC
from simalloc.policy import find_policy
from simalloc.trace import Trace, write_trace

SMALL = Trace.from_events([0, 0, 2, 1], [1, 2, 1, 2], [10, 20, 30, 0], name="small")

CONTESTS = [
    Contest("one", "first-fit-ao", [10.0, 20.0, 90.0], [5.0, 5.0, 5.0]),
    Contest("one", "phk", [8.0], [8.0]),
    Contest("one", "mimalloc", [3.0], [6.0]),
    Contest("two", "first-fit-ao", [9.0], [9.0]),
    Contest("two", "phk", [9.0], [1.0]),
    Contest("two", "mimalloc", [3.0], [6.0]),
]


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.npz"
    write_trace(SMALL, path)
    return str(path)


def test_each_contestant_is_timed_as_often_as_glibc_beside_it():
    said = []
    policies = [find_policy("first-fit-ao"), find_policy("first-fit-ao:growth=64K")]
    contests = hold(SMALL, policies, [GLIBC], 3, said.append)
    names = ["first-fit-ao", "first-fit-ao:growth=64K", "glibc"]
    assert [contest.contestant for contest in contests] == names
    assert len(said) == 9
    for contest in contests:
        assert len(contest.nanoseconds) == len(contest.glibc) == 3
        assert min(contest.nanoseconds) > 0


def test_a_ratio_is_the_median_of_the_passes_side_by_side():
    assert CONTESTS[0].ratio == 4.0
    assert ratios(CONTESTS)["first-fit-ao", "one"] == 4.0
    assert nanoseconds(CONTESTS)["first-fit-ao", "one"] == 20.0
    assert nanoseconds(CONTESTS)["glibc", "one"] == 5.0


def test_geometric_mean():
    assert geometric_mean([1, 4, 16]) == pytest.approx(4)
    assert math.isnan(geometric_mean([]))


def test_standings_end_with_the_groups_and_leave_allocators_out_of_them():
    table = standings("ratios", ratios(CONTESTS), 2)
    rows = {row[0]: row[1:] for row in table.rows}
    assert table.columns == ("", "one", "two", "mean", "worst")
    assert rows["first-fit-ao"] == pytest.approx([4, 1, 2, 4])
    assert rows["mimalloc"] == pytest.approx([0.5, 0.5, 0.5, 0.5])
    assert rows["Johnstone & Wilson's"] == pytest.approx([4, 1, 2, 4])
    assert "first-fit-ao" in headline(CONTESTS)["Johnstone & Wilson's"]["worst_at"]


def test_the_command_writes_what_it_measured(small, tmp_path):
    target = tmp_path / "figures.json"
    arguments = ["--traces", small, "--policies", "first-fit-ao,binary-buddy", "--repeats", "2"]
    result = CliRunner().invoke(replay.main, [*arguments, "--json", str(target)])
    assert result.exit_code == 0, result.output
    assert "Times glibc's" in result.stdout
    figures = json.loads(target.read_text())
    assert figures["environment"]["compiler"].startswith(("GCC ", "Clang", "Debian", "Ubuntu"))
    names = {contest["contestant"] for contest in figures["contests"]}
    assert {"first-fit-ao", "binary-buddy"} <= names
    assert figures["headline"]["all policies"]["geometric_mean"] > 0
    assert figures["instructions"] == []


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_instructions_are_counted_for_both_sides(small):
    counted = count(small, [find_policy("first-fit-ao"), find_policy("simple-seg-2n")], [GLIBC])
    assert list(counted) == ["first-fit-ao", "simple-seg-2n", "glibc"]
    assert all(5 < figure < 20_000 for figure in counted.values())


def test_instructions_without_valgrind(small, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(SimallocError, match="valgrind is not installed"):
        count(small, [find_policy("first-fit-ao")], [])
