"""`simalloc record --pid`."""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from command import simalloc
from patience import PATIENCE, ending
from stopping import require_stopping

from simalloc.process import load_snapshot
from simalloc.trace import read_trace

SERVICE = """
import itertools, random, time
kept = [bytes(random.randrange(600, 9000)) for _ in range(500)]
print("ready", flush=True)
for size in itertools.count(9000):
    kept[random.randrange(100)] = bytes(size)
    time.sleep(0.001)
"""


pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="processes are attached to on x86-64 only"
)


@contextmanager
def serving():
    """Run a Python process that replaces objects too large for Python's own allocator.

    Each new object is larger than all earlier objects, so that live bytes never fall.
    """
    require_stopping()
    command = [sys.executable, "-c", SERVICE]
    with ending(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as process:
        assert process.stdout.readline() == "ready\n"
        yield process


@pytest.fixture
def service():
    """A process of `serving`."""
    with serving() as process:
        yield process


def glibc():
    """Return the version of the C library, or skip the test if no model has this version."""
    found = platform.libc_ver()[1]
    if found not in {"2.36", "2.41", "2.43", "2.44"}:
        pytest.skip(f"no model of glibc {found}")
    return found


@contextmanager
def recording(service, folder, *options):
    """Record a process with a command in a separate process; yield it and the output folder."""
    words = [sys.executable, "-m", "simalloc", "record", "--pid", service.pid, "-o", "out.npz"]
    command = [*map(str, words), *options]
    streams = {"stderr": subprocess.PIPE, "text": True}
    with ending(subprocess.Popen(command, cwd=folder, **streams)) as process:
        line = process.stderr.readline()
        assert "The process is recorded into " in line, line
        (found,) = folder.glob("out.*.recording")
        yield process, found


def test_a_process_is_recorded_for_a_while_and_goes_on(service, tmp_path):
    path = tmp_path / "out.npz"
    result = simalloc("record", "--pid", service.pid, "--for", "0.5s", "-o", path)
    assert result.exit_code == 0, result.stderr
    assert "the recording ends after 0.5 s" in result.stderr
    assert f"process {service.pid} was still running when its recording ended." in result.stderr
    assert "ends early" not in result.stderr
    assert service.poll() is None
    trace = read_trace(path)
    start = trace.provenance["live_at_start"]
    assert start["objects"] > 500
    assert start["peak_live_bytes"] >= start["bytes"]
    assert trace.provenance["process"] == service.pid
    assert trace.provenance["frees_of_unknown"] == 0
    assert trace.provenance["frees_unseen"] == 0
    assert not trace.provenance["whole"]
    assert trace.objects > start["objects"] + 100
    assert not list(tmp_path.glob("*.recording"))
    assert trace.provenance["heap_at_start"] == "out.heap.npz"
    assert f"{tmp_path / 'out.heap.npz'}: the heap when the recording began" in result.stderr
    printed = simalloc("info", path).stdout
    assert f"{start['objects']:,} blocks were live when the recording began" in printed


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recording of a process that changed its blocks for a while."""
    path = tmp_path_factory.mktemp("recorded") / "out.npz"
    with serving() as process:
        result = simalloc("record", "--pid", process.pid, "--for", "0.5s", "-o", path)
    assert result.exit_code == 0, result.stderr
    return path


def test_runs_begin_with_the_heap_of_the_process(recorded):
    policies = ["-p", f"ptmalloc:version={glibc()}", "-p", "first-fit-ao"]
    options = ["--start", "recorded", "--of", "resident"]
    first, other = json.loads(
        simalloc("run", recorded, *policies, *options, "--format", "json").stdout
    )
    heap = load_snapshot(recorded.with_name("out.heap.npz"))
    assert first["peak_heap_bytes"] >= sum(part.bytes for part in heap.parts)
    assert first["live_at_start_bytes"] == other["live_at_start_bytes"] > 500 * 600
    same = simalloc("run", recorded, *policies, "--start", recorded.with_name("out.heap.npz"))
    assert " were live at the start (" in same.stdout


def test_settings_that_a_process_can_change(recorded):
    glibc()
    options = ["--start", "recorded", "--settings", "glibc:top_pad=64K,trim_threshold=1M"]
    found = json.loads(simalloc("settings", recorded, *options, "--format", "json").stdout)
    rows = {row["settings"]: row for row in found["rows"]}
    assert {row["allocator"] for row in found["rows"]} == {"glibc"}
    assert "tcache_count=0" not in rows
    assert rows["default"]["line"] == ""
    assert rows["arena_max=2"]["line"] == "mallopt(M_ARENA_MAX, 2)"
    both = "mallopt(M_TOP_PAD, 65536); mallopt(M_TRIM_THRESHOLD, 1048576)"
    assert rows["top_pad=64K,trim_threshold=1M"]["line"] == both
    assert rows["malloc_trim=10000"]["line"] == "call malloc_trim(0) now and then"
    start = found["process"]["live_at_start"]
    assert 0.5 < start["share"] <= 1
    for row in found["rows"]:
        assert row["time_mean_resident_bytes"] > start["bytes"]
        assert row["unused_resident_bytes"] <= row["peak_resident_bytes"]
    text = simalloc("settings", recorded, *options).stdout
    assert "Every row begins with the heap of the process" in text
    assert "Omitted because they cannot begin with glibc's heap: jemalloc, tcmalloc and" in text


def test_a_heap_that_is_missing_is_named(recorded, tmp_path):
    copied = shutil.copy(recorded, tmp_path)
    result = simalloc("run", copied, "--start", "recorded", "-p", "ptmalloc")
    assert result.exit_code == 2
    assert f"{tmp_path / 'out.heap.npz'} is missing" in result.stderr
    result = simalloc("run", "espresso", "--start", "recorded", "-p", "ptmalloc")
    assert result.exit_code == 2
    assert "names no saved heap of a process" in result.stderr
    result = simalloc("settings", copied, "--start", tmp_path / "none.npz")
    assert "is not a file. Use HEAP.npz or recorded" in result.stderr


def test_a_sample_has_no_heap(service, tmp_path):
    path = tmp_path / "out.npz"
    words = ("record", "--pid", service.pid, "--for", "0.2s", "--every", "64K", "-o", path)
    assert simalloc(*words).exit_code == 0
    assert "heap_at_start" not in read_trace(path).provenance
    assert [one.name for one in tmp_path.iterdir()] == ["out.npz"]


@pytest.mark.parametrize("how", ["signal", "stop", "end"])
def test_a_recording_ends(service, tmp_path, how):
    with recording(service, tmp_path) as (process, folder):
        time.sleep(0.2)
        if how == "signal":
            process.send_signal(signal.SIGINT)
        elif how == "stop":
            assert simalloc("record", "--stop", folder).exit_code == 0
        else:
            service.kill()
            service.wait()
        _, printed = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, printed
    assert "ends early" not in printed
    trace = read_trace(tmp_path / "out.npz")
    assert trace.provenance["whole"] == (how == "end")
    assert len(trace) > trace.provenance["live_at_start"]["objects"] > 500
    assert (service.poll() is None) == (how != "end")


def test_after_the_command_was_killed_the_process_is_freed_by_stop(service, tmp_path):
    with recording(service, tmp_path) as (process, folder):
        process.kill()
        process.wait()
    assert ".raw" in Path(f"/proc/{service.pid}/maps").read_text("utf-8")
    assert simalloc("record", "--recover", folder, "-o", tmp_path / "out.npz").exit_code
    assert simalloc("record", "--stop", folder).exit_code == 0
    assert ".raw" not in Path(f"/proc/{service.pid}/maps").read_text("utf-8")
    result = simalloc("record", "--recover", folder, "-o", tmp_path / "out.npz")
    assert result.exit_code == 0, result.stderr
    assert read_trace(tmp_path / "out.npz").provenance["live_at_start"]["objects"] > 500
    assert load_snapshot(tmp_path / "out.heap.npz").process == service.pid
    assert service.poll() is None


def test_a_process_of_another_user_in_a_mount_namespace(tmp_path):
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("setpriv") is None:
        pytest.skip("this needs root, unshare and setpriv")
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    command = ["unshare", "--mount", *user, "bash", "-c", "echo ready; while :; do a=$a; done"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
    with ending(child) as process:
        if process.stdout.readline() != "ready\n":
            pytest.skip("mount namespaces may not be made")
        before = set(Path("/tmp").iterdir())
        path = tmp_path / "out.npz"
        result = simalloc("record", "--pid", process.pid, "--for", "0.3s", "-o", path)
        assert result.exit_code == 0, result.stderr
        assert f"/proc/{process.pid}/root/tmp/out." in result.stderr
        assert process.poll() is None
        left = set(Path("/tmp").iterdir()) - before
        assert not [one for one in left if one.name.startswith("out.")]
    assert len(read_trace(path)) > 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--", "true"], "--pid excludes COMMAND"),
        (["--python"], "--pid excludes COMMAND, --python"),
        (["--alone"], "--pid excludes"),
    ],
)
def test_options_that_exclude_each_other(words, message):
    result = simalloc("record", "--pid", os.getpid(), "-o", "out.npz", *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_process_that_does_not_exist(tmp_path):
    result = simalloc("record", "--pid", 2**22, "-o", tmp_path / "out.npz")
    assert result.exit_code == 2
    assert "does not exist" in result.stderr
    assert not list(tmp_path.iterdir())
