"""Estimates of memory: near what replays take, and a refusal before the work begins."""

import subprocess
import sys

import pytest
from command import simalloc

from simalloc.errors import SimallocError
from simalloc.heap import simulate, simulate_all
from simalloc.heap.needed import needed_bytes
from simalloc.heap.running.setting import Setting
from simalloc.memory import VARIABLE, room
from simalloc.trace import Trace, open_trace, write_trace
from simalloc.trace.catalogue import find_trace

MEASURE = """
import re, sys
from pathlib import Path
from simalloc.heap import simulate
from simalloc.trace import open_trace
from simalloc.trace.catalogue import find_trace

def kilobytes(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

simulate(open_trace(find_trace("zstd")), sys.argv[2], resident=True)
before = kilobytes("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
simulate(open_trace(find_trace(sys.argv[1])), sys.argv[2], resident=True)
print(1024 * (kilobytes("VmHWM") - before))
"""
MOST_TOO_HIGH = 4
"""Maximum ratio of an estimate to the memory of a replay of at least 10 MB."""


@pytest.mark.parametrize(
    ("trace", "policy"),
    [
        ("jq", "first-fit-ao"),
        ("jq", "musl"),
        ("git", "best-fit-lifo"),
        ("emacs", "jemalloc"),
        ("varnish", "tcmalloc"),
        ("webserver", "ptmalloc"),
        ("webserver", "mimalloc"),
    ],
)
def test_estimates_bound_what_replays_take(trace, policy):
    command = [sys.executable, "-c", MEASURE, trace, policy]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    taken = int(done.stdout)
    source = open_trace(find_trace(trace))
    needed = needed_bytes([Setting.of(source, policy, resident=True)])
    assert taken <= needed <= MOST_TOO_HIGH * max(taken, 10 << 20)


def many_objects(count):
    stacks = {"places": [[], [["main", "main.c", 1]]], "parent": [0, 0], "place": [0, 1]}
    provenance = {"stacks": stacks}
    columns = ([0] * count, range(count), [8] * count)
    return Trace.from_events(*columns, site=[1] * count, provenance=provenance)


def test_a_replay_that_needs_too_much_is_refused_at_once(monkeypatch):
    trace = many_objects(700_000)
    monkeypatch.setenv(VARIABLE, "100M")
    with pytest.raises(SimallocError, match=r"1 policy at once needs about 1\d\d.* 100.0 MiB may"):
        simulate(trace, "first-fit-ao")
    monkeypatch.setenv(VARIABLE, "200M")
    assert simulate(trace, "first-fit-ao").events == len(trace)
    with pytest.raises(SimallocError, match=r"2 policies at once needs about 2\d\d.*=1G if"):
        simulate_all(trace, ["first-fit-ao", "best-fit-lifo"])


@pytest.mark.parametrize(
    "command", ["run", "pages", "waste", "place", "settings", "sites", "report"]
)
def test_every_command_refuses(command, monkeypatch, tmp_path):
    path = tmp_path / "large.npz"
    write_trace(many_objects(600_000), path)
    monkeypatch.setenv(VARIABLE, "70M")
    outputs = {"place": ["-o", tmp_path / "a.csv"], "report": ["-o", tmp_path / "a.html"]}
    policy = [] if command in {"settings", "report"} else ["-p", "ptmalloc"]
    done = simalloc(command, path, *policy, *outputs.get(command, []))
    assert done.exit_code == 2
    assert "70.0 MiB may be used here" in done.stderr


def test_a_limit_of_addresses_counts(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    code = (
        "import resource\n"
        "from simalloc.memory import room\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "print(room())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert int(done.stdout) < 1 << 30


def test_the_variable_must_be_a_size(monkeypatch):
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(SimallocError, match="SIMALLOC_MEMORY is 'much'; write a size such as 8G"):
        room()
