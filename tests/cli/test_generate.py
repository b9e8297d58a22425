"""`simalloc generate`, and the workloads that a plan describes."""

import pytest
from command import simalloc

from simalloc import read_trace
from simalloc.errors import PlanError
from simalloc.sweep import Results
from simalloc.sweep.planfile import read_plan
from simalloc.trace import write_trace
from simalloc.trace.workloads import Synthetic, generate


def test_options_and_seed_decide_the_trace(tmp_path):
    made = [tmp_path / f"{seed}.npz" for seed in (1, 1, 2)]
    for seed, path in zip((1, 1, 2), made, strict=True):
        given = ["--objects", 300, "--sizes", "uniform:min=8,max=64", "--seed", seed]
        ended = simalloc("generate", "-o", path, *given)
        assert (ended.exit_code, ended.stdout) == (0, "")
        assert "events on 300 objects" in ended.stderr
    first, second, third = map(read_trace, made)
    assert first == second != third
    assert first.provenance["sizes"] == "uniform:min=8,max=64"


def test_like_takes_the_sizes_of_a_trace(tmp_path):
    path = tmp_path / "like.npz"
    assert simalloc("generate", "-o", path, "--objects", 200, "--like", "p2c").exit_code == 0
    assert set(read_trace(path).size) <= {0, *read_trace("p2c").size}


def test_what_makes_no_sense_is_refused_and_nothing_is_written(tmp_path):
    path = tmp_path / "x.npz"
    ended = simalloc("generate", "-o", path, "--sizes", "uniform:most=3")
    assert (ended.exit_code, path.exists()) == (2, False)
    assert "no parameter 'most'; it has min, max" in ended.stderr


def test_more_objects_than_memory_holds_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    ended = simalloc(
        "generate", "-o", path, "--objects", "1000000", env={"SIMALLOC_MEMORY": "100M"}
    )
    assert (ended.exit_code, path.exists()) == (2, False)
    assert "A trace of 1,000,000 objects needs about 191 MiB of memory" in ended.stderr
    assert "Generate fewer objects, or set SIMALLOC_MEMORY" in ended.stderr


def test_progress_adds_up_to_the_whole_work(tmp_path):
    done = []
    generated = generate(Synthetic(objects=300_000), progress=done.append)
    assert sum(done) == pytest.approx(1)
    write_trace(generated, tmp_path / "x.npz", progress=done.append)
    assert len(done) > 4
    assert sum(done) == pytest.approx(2)
    assert read_trace(tmp_path / "x.npz") == generated


PLAN = """
[workloads.web]
objects = 500
sizes = "table:file=sizes.csv"
lifetimes = "generational"
seed = [1, 2]
[policies.best-fit-ao]
"""


def test_a_plan_describes_workloads(tmp_path):
    (tmp_path / "sizes.csv").write_text("16,3\n256,1\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    results = tmp_path / "r.sqlite"
    assert simalloc("sweep", tmp_path / "plan.toml", "-o", results).exit_code == 0
    rows = list(Results.read(results))
    assert [(row["trace"], row["program"], row["seed"]) for row in rows] == [
        ("web, seed 1", "web", 1),
        ("web, seed 2", "web", 2),
    ]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ("objects = 0", "objects is 0; use a whole number from 1 to"),
        ("items = 3", r"plan\.toml, line 3: a workload has no key 'items'"),
        ('objects = "many"', "objects is 'many'"),
    ],
)
def test_a_wrong_workload_of_a_plan_is_named_with_its_line(tmp_path, changed, words):
    (tmp_path / "sizes.csv").write_text("16,3\n")
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.replace("objects = 500", changed))
    with pytest.raises(PlanError, match=words):
        read_plan(path)
