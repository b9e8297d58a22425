"""`simalloc record --snapshot`, `--stop`, `--for` and `--limit`: recordings in progress."""

import subprocess
import sys
from contextlib import contextmanager

import pytest
from patience import PATIENCE, ending

from simalloc.cli import main
from simalloc.trace import read_trace

RECORD = [sys.executable, "-m", "simalloc", "record"]
SCRIPT = "a=1; echo ready; read go; a=2; echo gone on; read go; exit 7"


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Return a function that calls `simalloc record` in this process, in its own folder."""
    monkeypatch.chdir(tmp_path)

    def record(*words):
        try:
            main(["record", *map(str, words)])
        except SystemExit as left:
            code = left.code
        return subprocess.CompletedProcess(words, code, *capfd.readouterr())

    return record


@contextmanager
def recorded(tmp_path, *options, script=SCRIPT):
    """Record a shell that is ready, in a separate process; yield the process and the folder."""
    command = [*RECORD, "-o", "out.npz", *options, "sh", "-c", script]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with ending(subprocess.Popen(command, cwd=tmp_path, text=True, **streams)) as process:
        assert process.stdout.readline() == "ready\n"
        (folder,) = tmp_path.glob("out.*.recording")
        yield process, folder


def go(process):
    process.stdin.write("\n")
    process.stdin.flush()


def test_a_snapshot_leaves_the_recording_as_it_is(run, tmp_path):
    with recorded(tmp_path) as (process, folder):
        taken = run("--snapshot", folder, "-o", "early.npz")
        refused = run("--recover", folder, "-o", "late.npz")
        go(process)
        assert process.stdout.readline() == "gone on\n"
        go(process)
        _, printed = process.communicate(timeout=PATIENCE)
    assert process.returncode == 7
    assert taken.returncode == 0
    assert "it is still recorded" in taken.stderr
    early, whole = read_trace(tmp_path / "early.npz"), read_trace(tmp_path / "out.npz")
    assert 0 < len(early) < len(whole)
    assert early == whole.prefix(len(early))
    assert (early.provenance["whole"], early.provenance["ended"]) == (False, "snapshot")
    assert whole.provenance["whole"] is True
    assert refused.returncode == 2
    assert "--snapshot" in refused.stderr
    assert not (tmp_path / "late.npz").exists()
    assert "ends early" not in printed


def test_a_recording_of_which_simalloc_was_killed_is_not_taken_from_its_programs(run, tmp_path):
    with recorded(tmp_path) as (process, folder):
        process.kill()
        process.wait()
        refused = run("--recover", folder, "-o", "out.npz")
        assert refused.returncode == 2
        assert "is still being recorded" in refused.stderr
        assert run("--snapshot", folder, "-o", "early.npz").returncode == 0
        stopped = run("--stop", folder)
        assert "the recording of 1 process has ended" in stopped.stderr
        assert "--recover" in stopped.stderr
        assert run("--recover", folder, "-o", "out.npz").returncode == 0
        assert not folder.exists()
        go(process)
        assert process.stdout.readline() == "gone on\n"
    early, late = read_trace(tmp_path / "early.npz"), read_trace(tmp_path / "out.npz")
    assert early == late.prefix(len(early))
    assert late.provenance["whole"] is False


def test_a_recording_is_stopped_and_its_program_goes_on(run, tmp_path):
    with recorded(tmp_path) as (process, folder):
        assert run("--stop", folder).returncode == 0
        printed = ""
        while "continues without being recorded" not in printed:
            printed = process.stderr.readline()
        trace = read_trace(tmp_path / "out.npz")
        assert not folder.exists()
        go(process)
        assert process.stdout.readline() == "gone on\n"
        go(process)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 7
    assert len(trace) > 10
    assert trace.provenance["ended"] == "on demand"


def test_a_recording_ends_after_a_time(tmp_path):
    with recorded(tmp_path, "--for", "50ms") as (process, _):
        printed = ""
        while "continues without being recorded" not in printed:
            printed = process.stderr.readline()
        go(process)
        go(process)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 7
    assert read_trace(tmp_path / "out.npz").provenance["ended"] == "after 0.05 s"


def test_a_recording_ends_at_a_size(run, tmp_path):
    script = "import time; kept = [bytearray(600) for _ in range(100000)]; time.sleep(0.5)"
    done = run("-o", "out.npz", "--limit", "100K", "--", sys.executable, "-c", script)
    assert done.returncode == 0
    trace = read_trace(tmp_path / "out.npz")
    assert len(trace) > 0
    assert trace.provenance["ended"].endswith("raw bytes")
    assert not trace.provenance["whole"]


def test_processes_that_begin_after_the_end_are_not_complained_about(tmp_path):
    script = "echo ready; read go; ls / >/dev/null; exit 3"
    with recorded(tmp_path, "--for", "10ms", script=script) as (process, _):
        while "continues without" not in process.stderr.readline():
            pass
        go(process)
        _, printed = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3
    assert printed == ""
    assert [path.name for path in tmp_path.iterdir()] == ["out.npz"]


def test_processes_may_begin_all_the_time_at_the_end(run, tmp_path):
    loop = "i=0; while [ $i -lt 1500 ]; do /bin/true & /bin/true; i=$((i+1)); done; exit 5"
    done = run("-o", "out.npz", "--alone", "--limit", "300K", "--", "sh", "-c", loop)
    assert done.returncode == 5
    assert "error" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out.npz"]
    assert read_trace(tmp_path / "out.npz").provenance["ended"].endswith("raw bytes")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--snapshot", "."], "Missing option -o"),
        (["--snapshot", ".", "-o", "x.npz"], "contains no raw recordings"),
        (["--stop", "."], "contains no raw recordings"),
        (["--stop", ".", "ls"], "exclude each other and COMMAND"),
        (["--stop", ".", "--recover", "."], "exclude each other and COMMAND"),
        (["--for", "0", "-o", "x.npz", "ls"], "is not a duration"),
        (["--for", "ten", "-o", "x.npz", "ls"], "is not a duration"),
    ],
)
def test_wrong_usage(run, tmp_path, words, message):
    done = run(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())
