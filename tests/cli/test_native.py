"""`simalloc native`: its output, and its exit code on invalid input."""

import csv
import errno
import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

import pytest
from command import simalloc
from patience import PATIENCE, ending, wait_until

from simalloc.heap.real import allocators, process
from simalloc.trace import Op, Trace, write_trace

CRASHING = "void *malloc(unsigned long size) { (void)size; __builtin_trap(); }"
HANGING = 'void *malloc(unsigned long size) { for (;;) __asm__ volatile("" : : "r"(size)); }'


def native(*args):
    return simalloc("native", *args)


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "small.npz"
    write_trace(Trace.from_events([0, 0, 2, 1], [1, 2, 1, 2], [10, 20, 30, 0], name="small"), path)
    return path


@pytest.fixture
def greedy(tmp_path):
    """A trace that requests four gigabytes."""
    path = tmp_path / "greedy.npz"
    op = [Op.MALLOC] * 4
    write_trace(Trace.from_events(op, range(4), [1 << 30] * 4, name="greedy"), path)
    return path


def test_a_row_a_trace_and_allocator(trace):
    names = [allocator.name for allocator in allocators.installed()]
    result = native(trace, trace, "-a", ",".join(names), "--repeats", 1, "--format", "json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["allocator"] for row in rows] == names * 2
    for row in rows:
        assert (row["trace"], row["events"], row["max_live_bytes"]) == ("small", 4, 50)
        assert row["touch"] is True
        assert row["passes"] == 1
        assert row["mapped_to_live"] == row["peak_mapped_bytes"] / 50
        assert row["resident_to_live"] == row["peak_resident_bytes"] / 50
        assert row["nanoseconds"] is None


def test_figures_of_a_trace_with_threads(tmp_path):
    path = tmp_path / "threads.npz"
    op, key = [Op.MALLOC, Op.MALLOC, Op.FREE, Op.THREAD_END], [1, 2, 1, -1]
    write_trace(
        Trace.from_events(op, key, [50_000, 50_000, 0, 0], thread=[0, 1, 1, 1], name="two"), path
    )
    result = native(path, "-a", "glibc:arena_max=1", "-a", "glibc", "--format", "json")
    one, default = json.loads(result.stdout)
    assert (one["allocator"], default["allocator"]) == ("glibc:arena_max=1", "glibc")
    assert (one["threads"], one["threads_known"]) == (2, True)
    assert one["peak_mapped_bytes"] < default["peak_mapped_bytes"]
    for kind in ("mapped", "resident"):
        peak, final, mean = (one[f"{when}_{kind}_bytes"] for when in ("peak", "final", "mean"))
        assert 0 < mean <= peak
        assert 0 < final <= peak
    assert "does not tell" not in native(path, "-a", "glibc").stdout


def test_all_that_are_installed_by_default(trace):
    result = native(trace, "--repeats", 1, "--no-touch", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["allocator"] for row in rows] == [a.name for a in allocators.installed()]
    assert {row["touch"] for row in rows} == {"False"}


@pytest.mark.parametrize("table_format", ["table", "markdown"])
def test_tables_for_people(trace, table_format):
    result = native(trace, "-a", "glibc", "--format", table_format)
    assert re.search(r"small\W+glibc\W+1\W+50\W+\d", result.stdout)
    assert "never calls malloc" in result.stdout
    assert "Replayed with one thread, because the trace lacks threads: small." in result.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "nonsense",
            "unknown allocator 'nonsense'; write glibc, jemalloc, mimalloc, tcmalloc or a path",
        ),
        ("glibc,", "unknown allocator ''"),
        ("./nothing.so", "./nothing.so: file not found"),
    ],
)
def test_an_allocator_that_does_not_exist(trace, name, words):
    result = native(trace, "-a", name)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in result.stderr


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("jemalloc", "libjemalloc2"),
        ("mimalloc", "libmimalloc2.0"),
        ("tcmalloc", "libtcmalloc-minimal4"),
    ],
)
def test_one_that_is_not_installed_names_its_package(trace, monkeypatch, name, package):
    monkeypatch.setattr(allocators, "find_library", lambda _: None)
    result = native(trace, "-a", name)
    assert result.exit_code == 2
    assert f"{name} is not installed" in result.stderr
    assert package in result.stderr
    assert native(trace, "--format", "csv", "--repeats", 1).stdout.count("\n") == 2


def test_what_the_linker_would_pass_over_in_silence(trace, tmp_path):
    text = tmp_path / "text.so"
    text.write_text("not a library")
    result = native(trace, "-a", text)
    assert result.exit_code == 2
    assert f"{text} cannot replace malloc: the dynamic linker did not load it" in result.stderr


@pytest.mark.parametrize("allocator", allocators.installed(), ids=lambda allocator: allocator.name)
def test_a_setting_that_an_allocator_would_pass_over(trace, allocator):
    result = native(trace, "-a", f"{allocator.name}:hoard=1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "hoard" in result.stderr


@pytest.mark.parametrize("text", ["jemalloc:dirty_decay_ms=soon", "mimalloc:decommit_delay=soon"])
def test_a_value_that_an_allocator_would_pass_over(trace, text):
    if text.partition(":")[0] not in {allocator.name for allocator in allocators.installed()}:
        pytest.skip("it is not installed")
    result = native(trace, "-a", text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"error: {text}: " in result.stderr
    assert "invalid" in result.stderr.lower()


def test_no_room_for_the_columns_of_a_trace(trace, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(process.os, "posix_fallocate", full)
    result = native(trace, "-a", "glibc")
    assert result.exit_code == 2
    assert f"{gettempdir()}: No space left on device" in result.stderr


def test_a_library_that_crashes(trace, shared_library):
    result = native(trace, "-a", shared_library(CRASHING))
    assert result.exit_code == 2
    assert re.search(
        r"small: the process with .*libmade.so was killed by SIG(ILL|TRAP)", result.stderr
    )


def test_a_trace_that_does_not_exist():
    result = native("nothing-of-the-kind")
    assert result.exit_code == 2
    assert "nothing-of-the-kind: neither a file nor a trace has this name" in result.stderr


def test_running_out_of_memory(greedy):
    limited = ["sh", "-c", 'ulimit -v 3145728; exec "$@"', "sh", sys.executable]
    result = subprocess.run(
        [*limited, "-m", "simalloc", "native", str(greedy), "-a", "glibc", "--no-touch"],
        capture_output=True,
        check=False,
        text=True,
    )
    assert result.returncode == 2
    assert result.stdout == ""
    assert re.search(r"greedy: glibc has no memory for event [12], which requests", result.stderr)


def test_ctrl_c_ends_the_allocators_process_too(trace, shared_library):
    library = shared_library(HANGING)
    command = [sys.executable, "-m", "simalloc", "native", str(trace), "-a", str(library)]
    with ending(subprocess.Popen(command, stderr=subprocess.PIPE)) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        child = wait_until(lambda: _preloaded(children, library))
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr.read() == b"\nsimalloc: interrupted\n"
    wait_until(lambda: not Path(f"/proc/{child}").exists())


def _preloaded(children, library):
    """Return the child process that has mapped a library."""
    for child in children.read_text().split():
        if str(library) in Path(f"/proc/{child}/maps").read_text():
            return child
    return None
