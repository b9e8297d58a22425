"""Estimates of memory: close to a replay's memory, and refused before the work begins."""

import subprocess
import sys

import pytest
from command import simalloc
from peak import peak_kib

from simalloc import memory
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
    with pytest.raises(SimallocError, match=r"1 policy at once needs about 1\d\d.* 100 MiB may"):
        simulate(trace, "first-fit-ao")
    monkeypatch.setenv(VARIABLE, "200M")
    assert simulate(trace, "first-fit-ao").events == len(trace)
    with pytest.raises(SimallocError, match=r"2 policies at once needs about 2\d\d.*=1G if"):
        simulate_all(trace, ["first-fit-ao", "best-fit-lifo"])


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.npz"
    write_trace(many_objects(700_000), path)
    return path


@pytest.mark.parametrize(
    "words",
    [
        *("run -p ptmalloc", "pages -p ptmalloc", "waste -p ptmalloc", "place -p ptmalloc"),
        *("settings", "sites", "sites -p ptmalloc", "report -o {folder}/page.html", "info"),
        *("native -a glibc", "pool -p first-fit-ao", "best-possible", "diff {trace}", "device"),
        *("run -p best-possible", "run -p pytorch"),
    ],
)
def test_every_command_refuses(words, large, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, "70M")
    command, *options = words.format(trace=large, folder=tmp_path).split()
    done = simalloc(command, large, *options)
    assert done.exit_code == 2
    assert "70 MiB may be used here" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_need_is_stated_once(monkeypatch):
    said = []
    monkeypatch.setenv(VARIABLE, "100G")
    monkeypatch.setattr(memory, "_stated", set())
    monkeypatch.setattr(memory, "_state", said.append)
    for _ in range(3):
        memory.require_memory(2 << 30, "this test")
    assert said == ["this test needs about 2 GiB of memory"]


def test_an_export_takes_memory_for_a_piece_at_a_time(large, tmp_path):
    text = tmp_path / "large.txt"
    code = (
        "from simalloc.trace.formats.exporting import export_trace\n"
        f"export_trace({str(large)!r}, {str(text)!r}, 'text')"
    )
    assert peak_kib(code) < 300 << 10
    assert text.read_bytes().count(b"\nm ") == 700_000


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
