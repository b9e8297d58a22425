"""`simalloc diff`: two recordings of a program side by side."""

import csv
import io
import json
from pathlib import Path

import pytest
from command import simalloc

from simalloc.advice.before_after import before_after
from simalloc.trace import Op, Trace, write_trace

LEAK = 3


def recording(kept, name):
    """Return a recording whose `leak` keeps `kept` objects of 1,000 bytes; `work` keeps none."""
    objects = 100
    op = [Op.MALLOC] * objects + [Op.FREE] * (objects - kept)
    number = [*range(objects), *range(kept, objects)]
    site = [LEAK if each < kept else 1 for each in number]
    provenance = {"sites": ["", "work (a.c:1)", "", "leak (a.c:9)"], "malloc": "glibc 2.36"}
    return Trace.from_events(
        op,
        number,
        [1000] * objects + [0] * (objects - kept),
        name=name,
        site=site,
        provenance=provenance,
    )


@pytest.fixture
def paths(tmp_path):
    for name, kept in (("before", 40), ("after", 10)):
        write_trace(recording(kept, name), tmp_path / f"{name}.npz")
    return [str(tmp_path / f"{name}.npz") for name in ("before", "after")]


def diff(*arguments):
    return simalloc("diff", *arguments)


def test_what_has_changed_is_told_with_the_code_that_did_it(paths):
    record = json.loads(diff(*paths, "--format", "json").stdout)
    figures = {each["name"]: each for each in record["figures"]}
    assert figures["live bytes, end"] == {
        "name": "live bytes, end", "before": 40_000, "after": 10_000,
    }  # fmt: skip
    assert figures["resident, peak"]["before"] > 100_000
    assert record["policies"] == ["ptmalloc", "ptmalloc"]
    sites = {each["function"]: each for each in record["sites"]}
    assert (sites["leak"]["final_bytes_before"], sites["leak"]["final_bytes_after"]) == (40_000, 10_000)  # fmt: skip  # noqa: E501
    assert sites["leak"]["allocations_after"] == 10
    assert sites["work"]["live_bytes_after"] - sites["work"]["live_bytes_before"] == 30_000


def test_people_see_tables_and_other_programs_rows(paths):
    text = diff(*paths).stdout
    (row,) = [line for line in text.splitlines() if "live bytes, end" in line]
    assert row.split()[3:] == ["40,000", "10,000", "-30,000", "-75.0"]
    rows = list(csv.DictReader(io.StringIO(diff(*paths, "--format", "csv").stdout)))
    assert {row["function"] for row in rows} == {"", "leak", "work"}


def test_where_nothing_has_changed_no_code_is_named(paths):
    assert "Which code" in diff(*paths).stdout
    assert "Which code" not in diff(paths[0], paths[0]).stdout


def test_both_can_be_replayed_under_one_policy(paths):
    record = json.loads(diff(*paths, "-p", "first-fit-ao", "--format", "json").stdout)
    assert record["policies"] == ["first-fit-ao", "first-fit-ao"]
    assert diff(*paths, "-p", "worst-fit").exit_code == 2


def test_a_page_has_what_has_changed_above_both(paths, tmp_path):
    page = tmp_path / "page.html"
    assert diff(*paths, "-o", str(page)).exit_code == 0
    text = Path(page).read_text("utf-8")
    assert "<h1>Before and after: " in text
    assert text.index("What has changed") < text.index("Memory over time")
    assert text.count("<h3>Memory over time<") == 2


def test_python_programs_are_replayed_under_pythons_own_allocator():
    said = {"executable": "/usr/bin/python3.12", "malloc": "glibc 2.36"}
    trace = Trace.from_events([Op.MALLOC], [0], [40], provenance=said)
    assert before_after(trace, trace).policies == ("pymalloc over ptmalloc",) * 2
