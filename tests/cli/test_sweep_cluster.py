"""Sweeps on a real Dask cluster of several worker processes on this machine."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kill_sweeps import figures, has_runs, made_trace, make_plan
from patience import PATIENCE, ending, wait_until
from waiting import make_waiting_policy, processes_waiting

from simalloc.errors import SimallocError
from simalloc.sweep import Results, carry_out_plan, read_plan, run_sweep
from simalloc.sweep.planfile import plan_of
from simalloc.trace import write_trace

pytest.importorskip("distributed")

from distributed import Client

SIMALLOC = (sys.executable, "-m", "simalloc")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "policies.py"
WORKERS = 2
TRACE = made_trace(1, 4000)


class Cluster:
    """A scheduler and workers without nannies, so that a killed worker is not restarted."""

    def __init__(self, folder):
        self.folder = folder
        self.log = (folder / "log.txt").open("w")
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        wait_until(lambda: self.file.exists() and self.file.stat().st_size > 0)
        self.address = json.loads(self.file.read_text())["address"]
        self.workers = [
            self._start("worker", "--no-nanny", "--nthreads", "1") for _ in range(WORKERS)
        ]
        with Client(self.address, timeout=PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(WORKERS, timeout=PATIENCE)

    def _start(self, kind, *options):
        module = f"distributed.cli.dask_{kind}"
        command = [sys.executable, "-m", module, "--scheduler-file", self.file, "--no-dashboard"]
        return subprocess.Popen(
            [*command, *options], stdout=self.log, stderr=self.log, cwd=self.folder
        )

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
        self.log.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with contextlib.closing(Cluster(tmp_path_factory.mktemp("cluster"))) as running:
        yield running


@pytest.fixture
def plan(tmp_path):
    """A plan on traces of very different lengths; one trace is held back."""
    path = make_plan(tmp_path)
    path.write_text(
        'traces = ["*.npz"]\n[policies."*-fit-*o"]\n'
        "[workloads.lrusim]\nseed = [1, 2]\n" + make_waiting_policy(tmp_path, "t3")
    )
    return path


def test_a_lost_worker_s_runs_are_done_elsewhere(cluster, plan, tmp_path):
    path, expected = tmp_path / "cluster.sqlite", tmp_path / "local.sqlite"
    command = [*SIMALLOC, "sweep", plan, "-o", path, "--dask", cluster.address]
    with ending(subprocess.Popen(command, stderr=subprocess.PIPE, text=True)) as running:
        (lost,) = wait_until(lambda: processes_waiting(tmp_path))
        os.kill(lost, signal.SIGKILL)
        (tmp_path / "go").touch()
        text = running.stderr.read()
        assert running.wait() == 0, text
    carry_out_plan(read_plan(plan), expected)
    assert figures(Results.read(path)) == figures(Results.read(expected))
    assert f"{len(Results.read(expected))} done" in text


def test_a_trace_that_no_worker_can_reach_is_sent(cluster):
    found = run_sweep(TRACE, "*-fit-ao", dask=cluster.address)
    assert figures(found) == figures(run_sweep(TRACE, "*-fit-ao"))


def test_a_policy_in_python_travels_as_text(cluster, tmp_path):
    source = tmp_path / "mine.py"
    source.write_text(EXAMPLES.read_text())
    write_trace(TRACE, tmp_path / "t.npz")
    policies = {"mine.py:WorstFit": {"growth": ["4K", "64K"]}, "best-fit-ao": {}}
    asked = plan_of({"traces": ["t.npz"], "policies": policies}, tmp_path)
    source.unlink()
    carry_out_plan(asked, tmp_path / "cluster.sqlite", dask=cluster.address)
    carry_out_plan(asked, tmp_path / "local.sqlite")
    found, expected = (
        figures(Results.read(tmp_path / f"{name}.sqlite")) for name in ("cluster", "local")
    )
    assert len(found) == 3
    assert found == expected


def test_without_a_scheduler_the_message_says_so(monkeypatch):
    monkeypatch.setattr("simalloc.sweep.cluster.PATIENCE", 1)
    with pytest.raises(SimallocError, match="cannot reach a Dask scheduler at tcp://127"):
        run_sweep(TRACE, "first-fit-ao", dask="tcp://127.0.0.1:9")
    with pytest.raises(SimallocError, match="cannot reach a Dask scheduler at nonsense"):
        run_sweep(TRACE, "first-fit-ao", dask="nonsense://x")


def test_workers_of_another_version_are_refused(cluster, monkeypatch):
    monkeypatch.setattr("simalloc.sweep.cluster.code_version", lambda: "9.9.9+0123456789ab")
    with pytest.raises(
        SimallocError, match=r"does not run simalloc 9.9.9\+0123456789ab; it reports"
    ):
        run_sweep(TRACE, "first-fit-ao", dask=cluster.address)


def test_a_lost_scheduler_ends_the_sweep_with_what_to_do(cluster, plan, tmp_path):
    path = tmp_path / "cluster.sqlite"
    command = [*SIMALLOC, "sweep", plan, "-o", path, "--dask", cluster.address]
    with ending(subprocess.Popen(command, stderr=subprocess.PIPE, text=True)) as running:
        wait_until(lambda: has_runs(path))
        cluster.scheduler.kill()
        text = running.stderr.read()
        assert running.wait() == 2, text
    assert "scheduler has ended; the finished runs are stored" in text
    assert len(Results.read(path)) > 0
