"""`simalloc waste`: its output and picture, and its exit code on invalid input."""

import json

import pytest
from command import simalloc

from simalloc.measure.waste import PARTS
from simalloc.trace import Trace, write_trace


def waste(*args):
    return simalloc("waste", "--scale", "1", "--realloc", "in-place", *args)


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "small.npz"
    write_trace(Trace.from_events([0, 0, 2, 1], [1, 2, 1, 2], [10, 20, 30, 0], name="small"), path)
    return path


def test_a_row_alone_and_a_row_with_mechanism(trace):
    result = waste(trace, "-p", "best-fit-ao", "first-fit-ao:mechanism=on", "--format", "json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["policy"] for row in rows] == [
        "best-fit-ao",
        "best-fit-ao:mechanism=on",
        "first-fit-ao:mechanism=on",
    ]
    for row in rows:
        assert sum(row[part] for part in PARTS) == row["heap"] == 4096
    assert [row["headers"] for row in rows] == [0, 14, 14], "10 bytes take 24"


def test_the_peak_of_resident_bytes_and_what_is_free_by_its_pages(trace):
    args = "-p", "best-fit-ao", "--of", "resident", "--page", "1K", "--format", "json"
    row = json.loads(waste(trace, *args).stdout)[0]
    assert (row["event"], row["resident"]) == (0, 1024)
    pages = [row[f"free_{kind}"] for kind in ("resident", "untouched", "purged")]
    assert pages == [1014, 3072, 0]
    row = json.loads(waste(trace, *args, "--write", "none").stdout)[0]
    assert (row["resident"], row["free_untouched"]) == (0, 4086)


def test_threads_that_are_replayed_as_one_are_told(tmp_path):
    path = tmp_path / "two.npz"
    write_trace(Trace.from_events([0, 0], [1, 2], [10, 20], thread=[0, 1], name="two"), path)
    args = path, "-p", "best-fit-ao:mechanism=on", "ptmalloc", "-a", "glibc"
    notes = waste(*args).stdout
    assert (
        "two has 2 threads. They are replayed as one thread under best-fit-ao:mechanism=on.\n"
        in notes
    )
    rows = json.loads(waste(*args, "--format", "json").stdout)
    assert [(row["threads"], row["trace_threads"]) for row in rows] == [(1, 2), (2, 2), (2, 2)]


def test_a_row_for_a_real_allocator(trace):
    result = waste(trace, "-p", "best-fit-ao", "-a", "glibc", "--format", "csv")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith("small,glibc,1,,,")
    table = waste(trace, "-p", "best-fit-ao", "-a", "glibc", "--format", "markdown").stdout
    (row,) = [line for line in table.splitlines() if "| glibc (measured) |" in line]
    assert "| 0 |" not in row, "an unknown part is not 0"


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture(trace, tmp_path, ending):
    path = tmp_path / f"waste.{ending}"
    assert waste(trace, "-p", "best-fit-ao", "--plot", path).exit_code == 0
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["-p", "nonesuch"], "nonesuch"),
        (["-p", "best-fit-ao", "-a", "nonesuch"], "unknown allocator 'nonesuch'"),
        (["-p", "best-fit-ao", "--scale", "0"], "scale is 0"),
        (["-p", "best-fit-ao", "--plot", "waste.bmp"], ".png, .svg or .pdf"),
    ],
)
def test_what_is_wrong_is_one_line_and_code_2(trace, args, complaint):
    result = waste(trace, *args)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert not result.stdout


def test_a_trace_without_events_has_no_peak(tmp_path):
    path = tmp_path / "empty.npz"
    write_trace(Trace.from_events([], [], [], name="empty"), path)
    result = waste(path, "-p", "best-fit-ao")
    assert result.exit_code == 2
    assert "has no events" in result.stderr
