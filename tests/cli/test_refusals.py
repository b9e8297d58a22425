"""A run that refuses requests, in `run`, `waste`, `sweep` and `results`."""

import json

import pytest
from command import simalloc

from simalloc.trace import Trace, write_trace

PLAN = """traces = ["program.npz"]
[policies.first-fit-ao]
capacity = ["8K", "64K", "0"]
[policies.ort-arena]
capacity = ["1M", "16M"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write a program of twenty objects of 2 KB; five are freed after the first ten."""
    monkeypatch.chdir(tmp_path)
    events = [(0, i, 2000) for i in range(10)] + [(1, i, 0) for i in range(0, 10, 2)]
    events += [(0, i, 2000) for i in range(10, 20)] + [(2, 1, 3000), (1, 1, 0)]
    write_trace(Trace.from_events(*zip(*events, strict=True), name="program"), "program.npz")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def rows_of(*args):
    return json.loads(simalloc("run", "program.npz", *args, "--format", "json").stdout)


@pytest.mark.usefixtures("folder")
def test_what_json_has_of_refused_requests():
    (row,) = rows_of("-p", "first-fit-ao:capacity=8K", "--scale", "1")
    assert row["finished"] is True
    assert row["capacity_bytes"] == row["peak_heap_bytes"] == 8192
    assert (row["first_refused_event"], row["refused"]) == (5, 15)  # 4 objects of 2,000 bytes fit
    assert row["largest_free_bytes_when_refused"] == 192
    assert row["events"] == 27


@pytest.mark.usefixtures("folder")
def test_a_run_can_be_stopped_by_a_refused_request():
    (row,) = rows_of("-p", "first-fit-ao:capacity=8K", "--scale", "1", "--on-refusal", "stop")
    assert (row["finished"], row["events"], row["first_refused_event"]) == (False, 5, 5)
    (row,) = rows_of("-p", "ort-arena:capacity=1M")
    assert (row["finished"], row["first_refused_event"]) == (False, 1), "devices stop"


@pytest.mark.usefixtures("folder")
def test_runs_that_refused_follow_the_others_in_every_order():
    policies = "-p", "first-fit-ao:capacity=8K", "-p", "first-fit-ao", "-p", "ort-arena:capacity=1M"
    for column in ("#4", "#1", "peak_heap_bytes"):
        ordered = simalloc("run", "program.npz", *policies, "--sort", column, "--format", "csv")
        names = [line.split(",")[1] for line in ordered.stdout.splitlines()[1:]]
        assert names == ["first-fit-ao", "first-fit-ao:capacity=8K", "ort-arena:capacity=1M"]


@pytest.mark.usefixtures("folder")
def test_a_table_says_what_was_refused():
    result = simalloc("run", "program.npz", "-p", "first-fit-ao:capacity=8K", "--scale", "1")
    assert "refused" in result.stdout.splitlines()[2]
    assert "15 requests refused, the first at event 5" in " ".join(result.stdout.split())


@pytest.mark.usefixtures("folder")
def test_a_stopped_run_wins_nothing():
    assert simalloc("sweep", "plan.toml", "-o", "r.sqlite").exit_code == 0
    pivot = simalloc("results", "r.sqlite", "--pivot", "peak_heap_bytes", "--format", "csv")
    rows = [line.split(",") for line in pivot.stdout.splitlines()[1:]]
    assert rows[-1][0] == "ort-arena:capacity=1M"
    assert rows[-2][0] == "first-fit-ao:capacity=8K"
    assert rows[-1][4] == "", "no figure of a run that was ended"
    shown = " ".join(simalloc("results", "r.sqlite").stdout.split())
    assert "A refused request ended the run of program under ort-arena:capacity=1M" in shown


@pytest.mark.usefixtures("folder")
def test_run_and_waste_answer_one_question():
    for policy in ("best-fit-ao", "kingsley:mechanism=on", "first-fit-ao:capacity=8K"):
        (run,) = rows_of("-p", policy)
        waste = simalloc("waste", "program.npz", "-p", policy, "--format", "json")
        row = json.loads(waste.stdout)[0]
        assert (row["heap"], row["scale"], row["realloc"]) == (
            run["peak_heap_bytes"],
            run["scale"],
            run["realloc"],
        )


@pytest.mark.usefixtures("folder")
def test_other_commands_take_a_run_that_refused():
    asked = "program.npz", "-p", "first-fit-ao:capacity=8K"
    assert simalloc("waste", *asked).exit_code == 0
    assert simalloc("report", *asked, "-o", "page.html").exit_code == 0
    stopped = simalloc("waste", *asked, "--on-refusal", "stop")
    assert stopped.exit_code == 2
    assert "ran out of memory at event 5;" in stopped.stderr


@pytest.mark.usefixtures("folder")
def test_a_device_that_gave_nothing_back_says_nothing_of_it():
    said = " ".join(simalloc("run", "program.npz", "-p", "ort-arena:capacity=1M").stdout.split())
    assert "out of memory at event 1, where the run ends" in said
    assert "given back" not in said
