"""The traces that hold a heap's size steady, and the files of the benchmark that uses them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import scale
from benchmarks.cost import bytes_a_live_object
from benchmarks.steady import steady
from simalloc.heap import simulate
from simalloc.policy import GROUPS, find_policy
from simalloc.trace import Op


def live_objects(trace):
    return np.cumsum(np.select([trace.op == Op.MALLOC, trace.op == Op.FREE], [1, -1]))


@pytest.mark.parametrize(("kind", "live"), [("live", 200), ("free", 600)])
def test_live_objects_stay_as_many(kind, live):
    made = steady(kind, 200, 1000)
    after_ramp = live_objects(made.trace)[made.ramp - 1 :]
    assert len(made.trace) == made.ramp + 2000
    assert set(after_ramp.tolist()) == {live, live - 1}


@pytest.mark.parametrize("kind", ["live", "free"])
def test_the_seed_decides(kind):
    assert steady(kind, 50, 100).trace.sha256() == steady(kind, 50, 100).trace.sha256()


def test_an_object_is_replaced_by_one_of_its_size():
    made = steady("live", 100, 1000)
    run = simulate(made.trace, "best-fit-ao")
    assert run.counters.free_blocks_peak <= 2


@pytest.mark.parametrize("name", [name for name in GROUPS["johnstone-wilson"] if "fit" in name])
def test_gaps_between_objects_that_stay_are_free_blocks(name):
    made = steady("free", 500, 2000)
    ramp = simulate(made.trace.prefix(made.ramp), name)
    assert ramp.counters.free_blocks_peak == pytest.approx(500, abs=2)
    run = simulate(made.trace, name)
    assert 500 <= run.counters.free_blocks_peak <= 1500


def test_memory_is_that_of_the_simulation():
    figure = bytes_a_live_object("live", 200_000, find_policy("first-fit-ao"))
    assert 16 < figure < 160


def test_the_command_writes_figures_and_a_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "MEMORY_FROM", 300)
    target, picture = tmp_path / "figures.json", tmp_path / "figure.png"
    arguments = ["--live", "1e2,200", "--free", "300", "--turns", "100", "--repeats", "1"]
    files = ["--json", str(target), "--plot", str(picture)]
    result = CliRunner().invoke(scale.main, [*arguments, "--policies", "best-fit-ao", *files])
    assert result.exit_code == 0, result.output
    assert "Free blocks in that" in result.stdout
    figures = json.loads(target.read_text())
    sizes = {(cost["kind"], cost["size"], cost["contestant"]) for cost in figures["costs"]}
    yardsticks = {
        ("live", size, name) for size in (100, 200) for name in ("one cache line", "glibc")
    }
    policies = {("live", 100, "best-fit-ao"), ("live", 200, "best-fit-ao")}
    assert sizes == yardsticks | policies | {
        ("free", 300, "best-fit-ao"),
        ("free", 300, "glibc"),
    }
    ((kind, size, name, figure),) = figures["bytes_a_live_object"]
    assert (kind, size, name) == ("free", 300, "best-fit-ao")
    assert figure >= 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("sizes", ["many", "1", "1e400"])
def test_sizes_that_are_none(sizes):
    result = CliRunner().invoke(scale.main, ["--live", sizes])
    assert result.exit_code == 2
    assert "--live" in result.output
