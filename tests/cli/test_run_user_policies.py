"""Policies in Python on the command line: `FILE.py:CLASS` wherever a policy is named."""

import json
import signal
import subprocess
import sys

import pytest
from command import simalloc
from patience import PATIENCE, ending, wait_until

from simalloc.trace import Trace, write_trace

SOURCE = """
import time
from simalloc.policy import UserPolicy

class WorstFit(UserPolicy):
    growth = 4096

    def malloc(self, heap, size):
        return heap.split(heap.worst_fit(size) or heap.grow(size, self.growth), size)

    def free(self, heap, block):
        heap.insert(heap.merge(block))

class Wrong(WorstFit):
    def malloc(self, heap, size):
        return heap.worst_fit(size) or heap.grow(size)

class Sleeps(WorstFit):
    def free(self, heap, block):
        open("asleep", "w").close()
        time.sleep(10_000)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(SOURCE)
    trace = Trace.from_events([0, 0, 1, 0], [0, 1, 0, 2], [10, 20, 0, 30], name="small")
    write_trace(trace, tmp_path / "small.npz")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_run_puts_it_beside_the_catalogue():
    own = ["-p", "mine.py:WorstFit", "-p", "mine.py:WorstFit:growth=64K"]
    result = simalloc("run", "small.npz", "-p", "all", *own, "--format", "json")
    assert result.exit_code == 0
    found = {
        row["parameters"]["growth"]: row
        for row in json.loads(result.stdout)
        if row["policy"] == "mine.py:WorstFit"
    }
    assert sorted(found) == [4096, 65536]
    assert found[65536]["peak_heap_bytes"] == 4096
    table = simalloc("run", "small.npz", *own, "--format", "csv").stdout
    assert "mine.py:WorstFit:growth=64K" in table


def test_report_shows_it(folder):
    pytest.importorskip("matplotlib")
    command = ["report", "small.npz", "--no-native", "-o", "page.html", "-p", "mine.py:WorstFit"]
    assert simalloc(*command).exit_code == 0
    assert "mine.py:WorstFit (chosen)" in (folder / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("mine.py:Wrong", "event 0 (malloc of 160 scaled bytes): malloc returned <Block"),
        ("mine.py:Nobody", "mine.py has no policy 'Nobody'; it has WorstFit, Wrong, Sleeps"),
        ("yours.py:WorstFit", "policies cannot be read from yours.py: No such file or directory"),
    ],
)
def test_what_is_wrong_is_an_error_and_exit_code_2(text, complaint):
    result = simalloc("run", "small.npz", "-p", text)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"simalloc: error: {complaint}" in result.stderr


def test_ctrl_c_stops_a_policy_that_takes_its_time(folder):
    command = [sys.executable, "-m", "simalloc", "run", "small.npz", "-p", "mine.py:Sleeps"]
    with ending(subprocess.Popen(command, stderr=subprocess.PIPE, text=True)) as running:
        wait_until((folder / "asleep").exists)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "interrupted" in said
