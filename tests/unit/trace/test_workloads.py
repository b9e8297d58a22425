"""Generated traces: their rules, their seeds, and the shipped traces."""

import runpy
import sys

import numpy as np
import pytest

from simalloc.errors import SimallocError
from simalloc.trace import Op, read_trace
from simalloc.trace.catalogue import find_trace
from simalloc.trace.statistics import describe
from simalloc.trace.workloads import trace_of_lives, uniform, workload


def events(trace):
    letters = {Op.MALLOC: "m", Op.FREE: "f"}
    return " ".join(f"{letters[op]}{n}" for op, n in zip(trace.op, trace.object, strict=True))


def test_objects_are_freed_just_before_the_one_named():
    trace = trace_of_lives([1, 2, 3, 4], [2, 4, 3, 5], name="t", provenance={})
    assert events(trace) == "m0 m1 f0 m2 f2 m3 f1", "object 3 is never freed"
    assert trace.size.tolist() == [1, 2, 0, 3, 0, 4, 0]


def test_objects_freed_together_go_in_the_order_given():
    trace = trace_of_lives([1] * 3, [3] * 3, order=[2, 0, 1], name="t", provenance={})
    assert events(trace) == "m0 m1 m2 f1 f2 f0"


def test_no_object_is_freed_before_it_is_allocated():
    with pytest.raises(ValueError, match="before it is allocated"):
        trace_of_lives([1, 1], [1, 1], name="t", provenance={})


@pytest.mark.parametrize("name", ["lrusim", "hyper"])
def test_what_is_shipped_is_what_is_generated(name):
    shipped, generated = read_trace(find_trace(name)), workload(name)
    assert shipped.sha256() == generated.sha256()
    assert (shipped.name, shipped.provenance) == (generated.name, dict(generated.provenance))


@pytest.mark.parametrize("name", ["lrusim", "hyper"])
def test_reconstructions_say_so(name):
    trace = workload(name)
    assert trace.name == f"{name} (reconstructed)"
    assert trace.provenance["kind"] == "reconstructed"


@pytest.mark.parametrize("name", ["lrusim", "hyper"])
def test_a_seed_decides_alone(name):
    digests = [workload(name, seed).sha256() for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_an_unknown_workload_is_an_error_that_lists_them():
    with pytest.raises(SimallocError, match="lrusim, hyper"):
        workload("hypre")


def test_uniform_sizes_and_lifetimes_keep_their_bounds():
    trace = uniform(
        1, objects=2000, smallest=3, largest=5, shortest=2, longest=4, name="u", provenance={}
    )
    sizes = trace.size[trace.op == Op.MALLOC]
    assert np.unique(sizes).tolist() == [3, 4, 5]
    statistics = describe(trace)
    assert statistics.never_freed.objects == 0
    assert statistics.peak_objects.amount == 4
    assert statistics.lifetimes.mean_objects == pytest.approx(3, abs=0.1)


def test_ellermanns_objects_live_one_to_three_seconds():
    statistics = describe(workload("ellermann-8-512"))
    a_second = 300_000 / 365.57
    assert statistics.counts.objects == 300_000
    assert statistics.lifetimes.mean_objects == pytest.approx(2 * a_second, rel=0.01)
    assert statistics.counts.average_size == pytest.approx(260, rel=0.01)
    assert statistics.sizes.largest == 512


@pytest.fixture
def generate(monkeypatch):
    """Return a function with the effect of `python -m simalloc.trace.workloads`."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["", *arguments])
        runpy.run_module("simalloc.trace.workloads")

    return run


def test_the_module_writes_workloads(generate, tmp_path):
    generate("lrusim", "--seed", "2", "--folder", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["lrusim.npz"]
    written = read_trace(tmp_path / "lrusim.npz")
    assert written.sha256() == workload("lrusim", 2).sha256()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nonesuch"], "no workload nonesuch"),
        (["--folder", "/nonexistent"], "folder /nonexistent does not exist"),
        (["--seed", "-1"], "not negative"),
    ],
)
def test_the_module_refuses_what_it_cannot_do(generate, capsys, arguments, complaint):
    with pytest.raises(SystemExit) as left:
        generate(*arguments)
    assert left.value.code == 2
    assert complaint in capsys.readouterr().err
