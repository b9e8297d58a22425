"""The commands sweep, results, compare and merge, from the plan to the table of a paper."""

import csv
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from command import simalloc
from kill_sweeps import has_runs, kill_sweeps, make_plan
from patience import PATIENCE, ending, wait_until
from waiting import make_waiting_policy, processes_waiting

from simalloc.sweep import Results, read_plan

SIMALLOC = (sys.executable, "-m", "simalloc")


@pytest.fixture
def plan(tmp_path):
    path = make_plan(tmp_path)
    path.write_text('traces = ["*.npz"]\n[policies.first-fit-ao]\ngrowth = ["4K", "64K"]\n')
    return path


@pytest.fixture
def results(plan):
    path = plan.parent / "results.sqlite"
    assert simalloc("sweep", plan, "-o", path).exit_code == 0
    return path


def test_a_sweep_says_what_it_did_on_stderr_alone(plan):
    path = plan.parent / "results.sqlite"
    result = simalloc("sweep", plan, "-o", path)
    assert result.stdout == ""
    assert "8 runs: 0 already stored, 8 done in" in result.stderr
    again = simalloc("sweep", plan, "-o", path)
    assert again.exit_code == 0
    assert "8 runs: 8 already stored, 0 done" in again.stderr


def test_a_dry_run_runs_nothing(plan, results):
    fresh = plan.parent / "fresh.sqlite"
    result = simalloc("sweep", plan, "-o", fresh, "--dry-run", "--jobs", "3")
    assert result.exit_code == 0
    assert "8 runs (4 traces, 2 policies), 8 remaining: 81,000 events." in result.stdout
    assert "with 3 runs at a time" in result.stdout
    assert not fresh.exists()
    assert "0 remaining" in simalloc("sweep", plan, "-o", results, "--dry-run").stdout
    assert simalloc("sweep", plan, "--dry-run").exit_code == 0


def test_a_wrong_plan_is_refused_before_anything_is_made(plan):
    plan.write_text('traces = ["*.npz"]\n[policies.first-fit-ao]\ngrowth = ["4K", "sixty"]\n')
    path = plan.parent / "results.sqlite"
    result = simalloc("sweep", plan, "-o", path)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"simalloc: error: {plan}, line 3: growth is 'sixty'; use a size" in result.stderr
    assert not path.exists()


@pytest.mark.parametrize(
    "args",
    [
        ("sweep", "{plan}"),
        ("sweep", "{plan}", "-o", "{plan}"),
        ("sweep", "{plan}", "-o", "{folder}/no/such/results.sqlite"),
        ("sweep", "{plan}", "-o", "{folder}/r.sqlite", "--shard", "9/4"),
        ("sweep", "{plan}", "-o", "{folder}/r.sqlite", "--memory", "lots"),
        ("sweep", "{plan}", "-o", "{folder}/r.sqlite", "--memory", "1K"),
        ("sweep", "{plan}", "-o", "{folder}/r.sqlite", "--jobs", "0"),
        ("sweep", "{folder}/none.toml", "-o", "{folder}/r.sqlite"),
        ("results", "{folder}/none.sqlite"),
        ("results", "{plan}"),
        ("results", "{folder}"),
        ("results", "{results}", "--pivot", "5"),
        ("results", "{results}", "--pivot", "4", "--rank", "4"),
        ("results", "{results}", "--where", "growth"),
        ("results", "{results}", "--where", "nonsense=3"),
        ("results", "{results}", "--rank", "4", "--confidence", "1"),
        ("compare", "{results}", "{folder}/none.sqlite"),
        ("compare", "{results}", "{results}", "--ignore", "growth"),
        ("compare", "{results}", "{results}", "--ignore", "growht"),
        ("merge", "{results}", "-o", "{results}"),
        ("results", "{results}", "--sort", "policy"),
        ("results", "{results}", "--rank", "4", "--confidence", "nan"),
        ("merge", "{plan}", "-o", "{folder}/merged.sqlite"),
        ("merge", "--salvage", "{plan}", "-o", "{folder}/merged.sqlite"),
    ],
)
def test_what_is_wrong_is_one_error_and_exit_code_2(plan, results, args):
    kept = plan.read_bytes(), results.read_bytes()
    names = {"plan": plan, "results": results, "folder": plan.parent}
    result = simalloc(*(arg.format(**names) for arg in args))
    assert result.exit_code == 2, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("simalloc: error: ")
    assert (plan.read_bytes(), results.read_bytes()) == kept
    assert not (plan.parent / "merged.sqlite").exists()


def test_failed_runs_are_said_and_change_the_exit_code(plan, monkeypatch):
    def read_and_remove(path):
        made = read_plan(path)
        (plan.parent / "2.npz").unlink()
        return made

    monkeypatch.setattr("simalloc.cli.sweep.read_plan", read_and_remove)
    path = plan.parent / "results.sqlite"
    result = simalloc("sweep", plan, "-o", path)
    assert result.exit_code == 1
    assert "2 runs failed; `simalloc results" in result.stderr
    failed = simalloc("results", path, "--failed").stdout
    assert failed.count("No such file") == 2


def test_csv_is_a_row_a_run_with_all_that_reproduces_it(results):
    rows = list(csv.DictReader(io.StringIO(simalloc("results", results, "--format", "csv").stdout)))
    assert len(rows) == 8
    row = rows[0]
    assert len(row["trace_sha256"]) == 64
    assert row["policy"] in ("first-fit-ao", "first-fit-ao:growth=64K")
    assert json.loads(row["parameters"])["growth"] in (4096, 65536)
    assert row["scale"] == "16"
    assert row["code"] == Results.read(results)[0]["code"]
    assert float(row["fragmentation_4"]) > 0


def test_every_format_of_every_view(results):
    for view in ((), ("--pivot", "4"), ("--rank", "3"), ("--pivot", "peak_heap_bytes")):
        for style in ("table", "csv", "markdown", "json", "latex"):
            result = simalloc("results", results, *view, "--format", style)
            assert result.exit_code == 0, result.stderr
            assert result.stdout.count("growth=64K") >= 1
            if style == "json":
                assert isinstance(json.loads(result.stdout), list)
            if style == "latex":
                assert result.stdout.startswith(r"\begin{table}")


def test_json_holds_parameters_as_an_object(results):
    [first, *_] = json.loads(simalloc("results", results, "--format", "json").stdout)
    own = {"fit": "first", "order": "ao", "growth": 4096, "coalescing": "immediate"}
    assert first["parameters"] == own
    assert first["error"] is None


def test_compare_and_merge(plan, results):
    result = simalloc("compare", results, results, "--in-a", "growth=4K", "--in-b", "growth=64K",
                      "--ignore", "growth", "--format", "csv")  # fmt: skip
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1 + 4
    assert (
        "4 pairs of runs, 4 with the same figure"
        in simalloc(
            "compare", results, results, "--in-a", "growth=4K", "--in-b", "growth=4K", "--every"
        ).stdout
    )
    for index in (1, 2):
        part = plan.parent / f"part-{index}.sqlite"
        assert simalloc("sweep", plan, "-o", part, "--shard", f"{index}/2").exit_code == 0
    merged = simalloc("merge", plan.parent / "part-1.sqlite", plan.parent / "part-2.sqlite",
                      "-o", results)  # fmt: skip
    assert "0 runs added, 8 already stored" in merged.stderr


def test_two_sweeps_into_one_file_share_the_work(tmp_path):
    plan, path = make_plan(tmp_path), tmp_path / "results.sqlite"
    command = [*SIMALLOC, "sweep", plan, "-o", path, "--jobs", "1"]
    sweeps = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    texts = [sweep.communicate()[1] for sweep in sweeps]
    assert [sweep.returncode for sweep in sweeps] == [0, 0], texts
    done = [int(re.search(r"stored, (\d+) done", text)[1]) for text in texts]
    assert sum(done) == len(Results.read(path))
    keys = {(row["trace_sha256"], row["policy"]) for row in Results.read(path)}
    assert len(keys) == len(Results.read(path))
    assert list(tmp_path.glob("results.sqlite?*")) == []


def test_ctrl_c_stops_at_once_and_says_how_to_go_on(plan, tmp_path):
    path = tmp_path / "results.sqlite"
    plan.write_text(plan.read_text() + make_waiting_policy(tmp_path, "t3"))
    command = [*SIMALLOC, "sweep", plan, "-o", path, "--jobs", "2"]
    with ending(subprocess.Popen(command, stderr=subprocess.PIPE, text=True)) as sweep:
        wait_until(lambda: processes_waiting(tmp_path) and has_runs(path))
        sweep.send_signal(signal.SIGINT)
        _, text = sweep.communicate(timeout=PATIENCE)
        assert sweep.returncode == 130
    assert re.search(r"runs? (is|are) safe in", text)
    assert len(Results.read(path)) > 0


def pieces(terminal):
    """Yield the output to a terminal until all writers have closed it."""
    with suppress(OSError):
        while True:
            yield os.read(terminal, 1 << 12)


def test_progress_is_shown_on_a_terminal_only(plan):
    code = (
        "import simalloc.progress as shown; shown.PATIENCE = shown._PAUSE = -1.0\n"
        "from simalloc.cli import main; import sys; main(sys.argv[1:])"
    )
    terminal, end = pty.openpty()
    command = [sys.executable, "-c", code, "sweep", plan, "-o", plan.parent / "r.sqlite"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
    with subprocess.Popen(command, stderr=end, env=environment) as running:
        os.close(end)
        text = b"".join(pieces(terminal)).decode()
    os.close(terminal)
    assert running.returncode == 0
    assert "of 8 runs" in text
    assert "events/s" in text
    assert "worst so far: first-fit-ao" in text


def test_killed_sweeps_lose_nothing_and_count_nothing_twice(tmp_path):
    met, _ = kill_sweeps(tmp_path, 3, seed=168)  # the first sweeps are killed early
    assert met > 0
