"""Sweeps of policies in Python, in separate processes, including the failures of such processes."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from patience import PATIENCE, ending, wait_until
from sweep_traces import small_trace

from simalloc.errors import PlanError, SimallocError
from simalloc.heap import simulate
from simalloc.policy import UserPolicy, find_policy
from simalloc.report.runs import flat_record
from simalloc.sweep import Observer, Results, carry_out_plan, compare, run_sweep
from simalloc.sweep.planfile import plan_of, read_plan

SOURCE = """
import os, signal, sys, time
from pathlib import Path
from simalloc.policy import UserPolicy

class WorstFit(UserPolicy):
    growth = 4096

    def begin(self, trace):
        (Path(__file__).parent / f"process-{os.getpid()}").touch()
        print("a policy may print")

    def malloc(self, heap, size):
        return heap.split(heap.worst_fit(size) or heap.grow(size, self.growth), size)

    def free(self, heap, block):
        heap.insert(heap.merge(block))

class Raises(WorstFit):
    def free(self, heap, block):
        raise ValueError("no more")

class Dies(WorstFit):
    how = "kill"

    def free(self, heap, block):
        if self.how == "exit":
            os._exit(3)
        os.kill(os.getpid(), signal.SIGKILL)

class Sleeps(WorstFit):
    def free(self, heap, block):
        time.sleep(10_000)
"""


@pytest.fixture
def folder(traces):
    (traces.parent / "mine.py").write_text(SOURCE)
    return traces.parent


def plan(folder, policies, traces="logs/*.npz"):
    return plan_of({"traces": [traces], "policies": policies}, folder)


def processes(folder):
    return {int(path.name.partition("-")[2]) for path in folder.glob("process-*")}


def is_running(process):
    """Return whether a process exists and is not a zombie."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_policies_in_python_are_swept_in_other_processes(folder, results, capfd):
    grid = {"mine.py:WorstFit": {"growth": ["4K", "64K"]}, "first-fit-ao": {}}
    asked = plan(folder, grid)
    summary = carry_out_plan(asked, results, jobs=2)
    assert (summary.done, summary.failed) == (9, 0)
    assert 1 <= len(processes(folder)) <= 2
    assert os.getpid() not in processes(folder)
    assert not any(map(is_running, processes(folder)))
    assert capfd.readouterr().out == ""
    rows = {(row["trace_sha256"], row["policy"]): row for row in Results.read(results)}
    digest = find_policy(f"{folder}/mine.py:WorstFit").description.code.digest
    assert {text for _, text in rows} == {
        "first-fit-ao",
        f"mine.py@{digest}:WorstFit",
        f"mine.py@{digest}:WorstFit:growth=64K",
    }
    for task in asked.tasks():
        expected = flat_record(simulate(task.source.load(), task.policy))
        found = rows[task.key.trace_sha256, task.key.policy]
        for name in set(expected) - {"seconds", "policy", "finished"}:
            assert found.get(name) == expected[name], name
    assert carry_out_plan(asked, results).done == 0


def test_an_edited_policy_is_another_one(folder, results):
    grid = {"mine.py:WorstFit": {}}
    carry_out_plan(plan(folder, grid, "logs/small-1.npz"), results, jobs=1)
    old = Results.read(results)
    (folder / "mine.py").write_text(SOURCE.replace("worst_fit", "best_fit"))
    assert carry_out_plan(plan(folder, grid, "logs/small-1.npz"), results, jobs=1).done == 1
    new = [row for row in Results.read(results) if row["policy"] != old[0]["policy"]]
    assert len(new) == 1
    assert len(compare(old, new).pairs) == 1


def test_a_run_uses_the_code_that_the_plan_was_read_with(folder, results):
    asked = plan(folder, {"mine.py:WorstFit": {}})
    (folder / "mine.py").write_text("nonsense")
    assert carry_out_plan(asked, results, jobs=1).failed == 0


def test_what_fails_is_a_row_and_stops_nothing(folder, results):
    grid = {
        "mine.py:Raises": {},
        "mine.py:Dies": {"how": ["kill", "exit"]},
        "mine.py:WorstFit": {},
        "first-fit-ao": {},
    }
    summary = carry_out_plan(plan(folder, grid, "logs/small-1.npz"), results, jobs=1)
    assert (summary.done, summary.failed) == (5, 3)
    errors = {row["policy"].partition(":")[2]: row["error"] for row in Results.read(results).failed}
    assert errors["Raises"].startswith("event ")
    assert "ValueError: no more" in errors["Raises"]
    assert errors["Dies"] == "the process of this run was ended by SIGKILL"
    assert errors["Dies:how=exit"] == "the process of this run ended by itself with exit code 3"


def test_a_trace_that_vanishes_fails_its_own_runs(folder, results):
    asked = plan(folder, {"mine.py:WorstFit": {}})
    (folder / "logs" / "small-2.npz").unlink()
    assert carry_out_plan(asked, results, jobs=1).failed == 1
    (failed,) = Results.read(results).failed
    assert "No such file" in failed["error"]


def test_traces_in_memory_are_sent(folder):
    trace = small_trace(5)
    (row,) = run_sweep([trace], f"{folder}/mine.py:WorstFit")
    assert len(processes(folder)) == 1
    assert os.getpid() not in processes(folder)
    assert row["peak_heap_bytes"] == simulate(trace, f"{folder}/mine.py:WorstFit").peak_heap_bytes


class Here(UserPolicy):
    where: list = []  # noqa: RUF012 - read by the tests

    def malloc(self, heap, size):
        self.where.append(os.getpid())
        return heap.extend(size)

    def free(self, heap, block):
        heap.insert(block)


def test_a_class_that_is_defined_in_no_file_stays_in_this_process():
    class Local(Here):
        pass

    found = run_sweep([small_trace(5)], [Local, Here()])
    assert [row["policy"].partition("@")[0].rpartition("/")[2] for row in found] == [
        "Local",
        "test_sweep_user_policies.py",
    ]
    assert set(Here.where) == {os.getpid()}


def test_a_plan_with_a_wrong_policy_is_refused_with_its_line(folder):
    path = folder / "plan.toml"
    for text, complaint in [
        ('[policies."mine.py:WorstFit"]\ngrowth = ["4K", "x"]', "line 3: growth is 'x'; use"),
        ('[policies."mine.py:Worst"]', "line 2: mine.py has no policy 'Worst'; it has WorstFit,"),
        ('[policies."none.py:Worst"]', "line 2: policies cannot be read from none.py"),
    ]:
        path.write_text(f'traces = ["logs/*.npz"]\n{text}\n')
        with pytest.raises(PlanError, match=complaint):
            read_plan(path)


def test_memory_counts_the_copies_in_the_processes(folder, results):
    whole = plan(folder, {"mine.py:WorstFit": {"growth": ["4K", "64K"]}}, "logs/small-3.npz")
    (asked,) = whole.sources
    alone = asked.footprint(2)
    with pytest.raises(SimallocError, match="of memory with 2 replays"):
        carry_out_plan(whole, results, jobs=2, memory=alone + asked.memory)
    assert carry_out_plan(whole, results, jobs=2, memory=alone + 2 * asked.memory).failed == 0


class Interrupts(Observer):
    """Observer that stops the sweep when the first run has ended."""

    def finished(self, outcome):
        raise KeyboardInterrupt


def test_an_interrupted_sweep_ends_its_processes_at_once(folder, results):
    grid = {"first-fit-ao": {}, "mine.py:Sleeps": {}}
    with pytest.raises(KeyboardInterrupt):
        carry_out_plan(plan(folder, grid), results, jobs=2, observer=Interrupts())
    wait_until(lambda: not any(map(is_running, processes(folder) - {os.getpid()})))
    assert len(Results.read(results)) == 1


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_no_process_survives_its_sweep(folder, results, blow):
    (folder / "plan.toml").write_text('traces = ["logs/*.npz"]\n[policies."mine.py:Sleeps"]\n')
    command = [sys.executable, "-m", "simalloc", "sweep", folder / "plan.toml", "-o", results]
    command += ["--jobs", "2"]
    with ending(subprocess.Popen(command, stderr=subprocess.PIPE, text=True)) as running:
        wait_until(lambda: len(processes(folder)) == 2)
        running.send_signal(blow)
        _, said = running.communicate(timeout=PATIENCE)
    if blow == signal.SIGINT:
        assert running.returncode == 130
        assert "0 runs are safe in" in said
    wait_until(lambda: not any(map(is_running, processes(folder))))
    (folder / "mine.py").write_text(SOURCE.replace("sleep(10_000)", "sleep(0)"))
    assert carry_out_plan(read_plan(folder / "plan.toml"), results, jobs=1).done == 3
