"""`simalloc pages`: its output and picture, and its exit code on invalid input."""

import json

import pytest
from command import simalloc

from simalloc.trace import Trace, write_trace


def pages(*args):
    return simalloc("pages", *args)


@pytest.fixture
def trace(tmp_path):
    """Two objects of two pages each; the first object is freed."""
    path = tmp_path / "small.npz"
    events = [0, 0, 1], [1, 2, 1], [8192, 8192, 0]
    write_trace(Trace.from_events(*events, name="small"), path)
    return path


def test_peak_mean_and_end_of_each_size_of_pages(trace):
    result = pages(trace, "-p", "best-fit-ao", "--scale", 1, "--format", "json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["page"] for row in rows] == ["4K", "64K", "2M"]
    figures = [(row["peak"], row["mean"], row["final"]) for row in rows]
    assert figures == [
        (16384, pytest.approx((8192 + 16384 + 8192) / 3), 8192),
        (65536, 65536, 65536),
        (2 << 20, 2 << 20, 2 << 20),
    ]


def test_threads_that_are_replayed_as_one_are_told(tmp_path):
    path = tmp_path / "two.npz"
    write_trace(Trace.from_events([0, 0], [1, 2], [10, 20], thread=[0, 1], name="two"), path)
    args = path, "-p", "best-fit-ao", "ptmalloc", "--sizes", "4K"
    assert (
        "two has 2 threads. They are replayed as one thread under best-fit-ao."
        in pages(*args).stdout
    )
    rows = json.loads(pages(*args, "--format", "json").stdout)
    assert [(row["threads"], row["trace_threads"]) for row in rows] == [(1, 2), (2, 2)]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture(trace, tmp_path, ending):
    path = tmp_path / f"pages.{ending}"
    assert pages(trace, "-p", "best-fit-ao", "--plot", path).exit_code == 0
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("args", "complaint"),
    [(["-p", "nonesuch"], "nonesuch"), (["--sizes", "many"], "many"), (["--sizes", "0"], "0")],
)
def test_what_is_wrong_is_named(trace, args, complaint):
    result = pages(trace, *args)
    assert result.exit_code == 2
    assert complaint in (result.stderr + str(result.exception))
