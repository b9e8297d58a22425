"""`simalloc sites`, as called by other programs."""

import csv
import io
import json

import pytest
from command import simalloc

from simalloc.trace import Op, Trace, write_trace
from simalloc.trace.sites import PATH


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """A trace with sessions that remain between freed buffers."""
    sites = [[0, 1, 2][event % 2 + 1] for event in range(400)]
    op = [Op.MALLOC] * 400 + [Op.FREE] * 200
    number = [*range(400), *range(0, 400, 2)]
    size = [3000 if event % 2 == 0 else 40 for event in range(400)] + [0] * 200
    names = ["", "temp_buffer (page.c:20)", PATH.join(["xmalloc", "remember (session.c:7)"])]
    made = Trace.from_events(
        op, number, size, site=sites + [1] * 200, provenance={"sites": names}, name="served"
    )
    path = tmp_path_factory.mktemp("sites") / "served.npz"
    write_trace(made, path)
    return str(path)


def sites(*arguments):
    return simalloc("sites", *arguments)


def test_the_guilty_line_comes_first(trace):
    rows = json.loads(sites(trace, "-p", "first-fit-ao", "--format", "json").stdout)
    assert [row["function"] for row in rows] == ["remember", "temp_buffer"]
    assert (rows[0]["file"], rows[0]["line"]) == ("session.c", 7)
    assert rows[0]["stack"] == ["xmalloc", "remember (session.c:7)"]


def test_what_a_region_of_its_own_saves(trace):
    done = sites(trace, "-p", "first-fit-ao:trim=4K", "--apart", "remember")
    assert done.exit_code == 0
    assert done.stderr.startswith("remember apart: ")
    assert "temp_buffer (page.c:20)" in done.stdout


def test_it_proposes_what_to_put_apart(trace):
    done = sites(trace, "-p", "first-fit-ao:trim=4K", "--propose")
    assert done.exit_code == 0
    assert done.stderr.startswith(
        "A separate arena for the objects of remember (session.c:7) would"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--apart", "remember"], "requires a policy (-p NAME)"),
        (["--propose"], "requires a policy (-p NAME)"),
        (["--wrapper", "("], "'(' is not a regular expression"),
        (["--least", "nan"], "'nan' is not a number"),
        (["-p", "first-fit-ao", "--apart", "nobody"], "no call site is in a function 'nobody'"),
        (["-p", "nosuch"], "unknown policy 'nosuch'"),
        (
            ["-p", "jemalloc,tcmalloc"],
            "sites takes one policy, but jemalloc and tcmalloc are given.",
        ),
    ],
)
def test_what_cannot_be(trace, arguments, complaint):
    done = sites(trace, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert complaint in done.stderr


def test_a_trace_without_sites():
    done = sites("espresso")
    assert done.exit_code == 2
    assert "record it with --stacks" in done.stderr


def test_the_call_paths_as_a_tree(trace):
    options = ("-p", "first-fit-ao", "--measure", "wasted_bytes", "--tree")
    (remember, buffer) = json.loads(sites(trace, *options, "top-down", "--format", "json").stdout)
    assert (remember["function"], buffer["function"]) == ("remember", "temp_buffer")
    rows = csv.DictReader(io.StringIO(sites(trace, *options, "top-down", "--format", "csv").stdout))
    assert [(row["depth"], row["function"]) for row in rows] == [
        ("1", "remember"), ("1", "temp_buffer"),
    ]  # fmt: skip
    unfolded = sites(trace, *options, "bottom-up", "--unfolded").stdout
    assert unfolded.index("all") < unfolded.index("  xmalloc") < unfolded.index("    remember")


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["--only", "session.c"], ["remember"]),
        (["--without", "temp_"], ["remember"]),
        (["--through", "page.c"], ["temp_buffer"]),
        (["--through", "nowhere"], []),
    ],
)
def test_filters(trace, arguments, left):
    done = sites(trace, *arguments, "--format", "json")
    assert [row["function"] for row in json.loads(done.stdout)] == left
    assert sites(trace, *arguments).exit_code == 0
    assert sites(trace, *arguments, "--tree", "top-down").exit_code == 0


def test_a_measure_of_a_heap_needs_a_policy(trace):
    done = sites(trace, "--measure", "wasted_bytes")
    assert (done.exit_code, "requires a policy (-p NAME)" in done.stderr) == (2, True)


def test_profiles_for_other_programs(trace, tmp_path):
    path = tmp_path / "heap.txt"
    done = sites(trace, "--export", str(path), "--measure", "final_bytes")
    assert (done.exit_code, done.stdout) == (0, "")
    assert path.read_text("utf-8") == "remember (session.c:7) 8000\n"
    done = sites(trace, "--export", str(tmp_path / "heap.svg"))
    assert done.exit_code == 2
    assert "pprof" in done.stderr
