"""`simalloc record` on the command line."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from patience import PATIENCE, ending

from simalloc.cli import main
from simalloc.trace import read_trace
from simalloc.trace.sites import site_name

RECORD = [sys.executable, "-m", "simalloc", "record"]
OWN_ALLOCATOR = """
static char room[100];
void *malloc(unsigned long size) { return size > 100 ? 0 : room; }
void free(void *block) { (void)block; }
int main(void) { free(malloc(9)); return 0; }
"""
FORKING = "import os; p = os.fork(); p or os._exit(5); os.waitpid(p, 0)"


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Return a function that records a command from this process, in its own folder."""
    monkeypatch.chdir(tmp_path)

    def record(*words):
        with pytest.raises(SystemExit) as left:
            main(["record", *map(str, words)])
        return subprocess.CompletedProcess(words, left.value.code, *capfd.readouterr())

    return record


@contextmanager
def started(tmp_path, *command):
    """Start a command that prints "ready" when it is ready, in its own process group."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    whole = [*RECORD, "-o", "out.npz", *command]
    with ending(
        subprocess.Popen(whole, cwd=tmp_path, text=True, start_new_session=True, **pipes)
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield process


def names(tmp_path):
    return sorted(path.name for path in tmp_path.iterdir())


def test_the_command_runs_as_it_is(tmp_path):
    script = "read word; echo got $word; echo problem >&2; exit 9"
    command = [*RECORD, "-o", "out.npz", "--", "sh", "-c", script]
    done = subprocess.run(
        command, input="hello\n", cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.stdout == "got hello\n"
    assert done.stderr.startswith("problem\n")
    assert done.returncode == 9
    assert names(tmp_path) == ["out.npz"]
    trace = read_trace(tmp_path / "out.npz")
    assert len(trace) > 10
    assert trace.provenance["command"] == ["sh", "-c", script]
    assert trace.provenance["whole"] is True
    assert set(trace.columns) == {"alignment", "thread"}
    assert re.search(r"simalloc: out\.npz: \w+ \(\d+\), \d+ events on \d+ objects", done.stderr)


def test_what_the_process_held_while_it_ran(run, tmp_path):
    script = """
import time
time.sleep(0.1)
block = bytearray(64 << 20)
block[::4096] = b"x" * (len(block) // 4096)
time.sleep(0.2)
del block
time.sleep(0.2)
"""
    run("-o", "out.npz", "--", sys.executable, "-c", script)
    trace = read_trace(tmp_path / "out.npz")
    event, time, resident, mapped = np.array(trace.provenance["resident"]).T
    assert (np.diff(event) >= 0).all()
    assert (np.diff(time) > 0).all()
    assert (resident <= mapped).all()
    allocated = int(np.argmax(trace.size >= 64 << 20))
    freed = int(np.flatnonzero(trace.object == trace.object[allocated])[1])
    held = resident[(allocated < event) & (event <= freed)].max()
    assert held > resident[event <= allocated].max() + (60 << 20)
    assert held > resident[event > freed].min() + (60 << 20)
    assert trace.provenance["malloc"] == "glibc " + os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    assert trace.provenance["cores"] == len(os.sched_getaffinity(0))


def test_a_command_that_is_killed_has_a_trace(run, tmp_path):
    done = run("-o", "out.npz", "sh", "-c", "kill -9 $$")
    assert done.returncode == 128 + signal.SIGKILL
    assert "simalloc: sh was ended by SIGKILL\n" in done.stderr
    assert len(read_trace(tmp_path / "out.npz")) > 10


@pytest.mark.parametrize(
    ("number", "name"),
    [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGRTMIN + 1, f"signal {signal.SIGRTMIN + 1}")],
)
def test_the_signal_that_ended_a_command_is_named(run, number, name):
    done = run("-o", "out.npz", "sh", "-c", f"kill -{int(number)} $$")
    assert done.returncode == 128 + number
    assert f"simalloc: sh was ended by {name}\n" in done.stderr


def test_an_exit_code_above_128_is_not_taken_for_a_signal(run):
    done = run("-o", "out.npz", "sh", "-c", "exit 139")
    assert done.returncode == 139
    assert "was ended by" not in done.stderr


def test_a_program_with_an_allocator_of_its_own_has_an_empty_trace(run, tmp_path):
    source = tmp_path / "own.c"
    source.write_text(OWN_ALLOCATOR)
    subprocess.run(["cc", "-fno-builtin", "-o", tmp_path / "own", source], check=True)
    done = run("-o", "out.npz", "./own")
    assert "nothing of the command itself was recorded" in done.stderr
    assert len(read_trace(tmp_path / "out.npz")) == 0


def test_options_after_the_command_are_the_command_s(run, tmp_path):
    (tmp_path / "words").write_text("b\na\n")
    done = run("-o", "out.npz", "sort", "-o", "sorted", "words")
    assert done.returncode == 0
    assert (tmp_path / "sorted").read_text() == "a\nb\n"


def test_each_process_has_a_trace(run, tmp_path):
    done = run("-o", "out.npz", sys.executable, "-c", FORKING)
    assert done.returncode == 0
    (child,) = [name for name in names(tmp_path) if name != "out.npz"]
    assert re.fullmatch(r"out\.\d+\.npz", child)
    assert read_trace(tmp_path / child).provenance["process"] == int(child.split(".")[1])
    assert "1 more trace of" in done.stderr
    assert child in done.stderr
    assert " frees skipped, " in done.stderr


def test_the_trace_is_that_of_the_last_program_that_the_command_became(run, tmp_path):
    done = run("-o", "out.npz", "--", "env", "A=1", "sh", "-c", "exec ls")
    assert done.returncode == 0
    assert read_trace(tmp_path / "out.npz").provenance["command"] == ["ls"]
    first, second = (name for name in names(tmp_path) if name != "out.npz")
    assert (first.split(".")[2], second.split(".")[2]) == ("1", "2")
    assert read_trace(tmp_path / first).provenance["command"][0] == "env"
    assert read_trace(tmp_path / second).provenance["command"][0] == "sh"


def test_times_and_sites(run, tmp_path):
    assert run("-o", "out.npz", "--times", "--sites", "ls").returncode == 0
    trace = read_trace(tmp_path / "out.npz")
    assert (trace.time[1:] >= trace.time[:-1]).all()
    names = {site_name(trace.provenance, int(site)) for site in np.unique(trace.site)}
    assert any("opendir" in name for name in names)


def test_progress(tmp_path):
    """The command waits for its input, which ends when a line mentions both processes."""
    with subprocess.Popen(
        [*RECORD, "-o", "out.npz", "--progress", "sh", "-c", "cat; :"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        line = r"simalloc: [\d,]+ events, [\d.]+\s(?:Ki)?B live, 2 processes\n"
        assert any(re.fullmatch(line, printed) for printed in process.stderr)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_progress_is_not_shown_where_nobody_looks(run):
    quiet = run("-o", "out.npz", "sh", "-c", "sleep 1")
    assert " live" not in quiet.stderr.partition("out.npz: ")[0]


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (["no-such-program"], 127, "no-such-program: program not found"),
        (["/"], 126, "/: is a directory"),
        (["./script"], 126, "neither a program nor a script"),
    ],
)
def test_what_cannot_be_recorded(run, tmp_path, command, code, message):
    (tmp_path / "script").write_text("echo hello\n")
    (tmp_path / "script").chmod(0o755)
    done = run("-o", "out.npz", "--", *command)
    assert done.returncode == code
    assert message in done.stderr
    assert names(tmp_path) == ["script"]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["-o", "out.npz"],
        ["ls"],
        ["-o", "no/such/out.npz", "ls"],
        ["-o", ".", "ls"],
        ["-o", "out.npz", "--every", "0", "ls"],
    ],
)
def test_wrong_usage(run, tmp_path, words):
    done = run(*words)
    assert done.returncode == 2
    assert "simalloc: error: " in done.stderr
    assert names(tmp_path) == []


def test_ctrl_c_goes_to_the_program(tmp_path):
    script = "trap 'echo interrupted; exit 3' INT; echo ready; while :; do sleep 0.1; done"
    with started(tmp_path, "sh", "-c", script) as process:
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    assert output == "interrupted\n"
    assert process.returncode == 3
    assert "out.npz: " in errors
    assert (tmp_path / "out.npz").exists()


def test_sigterm_is_passed_on(tmp_path):
    with started(tmp_path, "sh", "-c", "echo ready; exec sleep 10000") as process:
        process.terminate()
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert (tmp_path / "out.npz").exists()


LEAVES = "(cat begun go; echo later >out) >/dev/null 2>&1 </dev/null & : >begun"
"""Leave a process that has started to read the pipe `go` and writes to `out` when the pipe closes.
"""


@pytest.fixture
def pipes(tmp_path):
    for name in ("begun", "go"):
        os.mkfifo(tmp_path / name)


def let_go(tmp_path):
    """Let the process that reads the pipe `go` end."""
    (tmp_path / "go").write_text("")


def test_other_processes_leave_no_traces_if_only_the_command_is_wanted(run, tmp_path):
    result = run("-o", "out.npz", "--alone", "--", sys.executable, "-c", FORKING)
    assert result.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out.npz"]
    assert "more trace" not in result.stderr
    assert len(read_trace(tmp_path / "out.npz"))


@pytest.mark.usefixtures("pipes")
def test_processes_left_running_are_waited_for(tmp_path):
    command = [*RECORD, "-o", "out.npz", "sh", "-c", LEAVES]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        printed = process.stderr.readline()
        assert "the command has ended; processes that it started are still recorded: " in printed
        let_go(tmp_path)
        _, printed = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert (tmp_path / "out").exists()
    assert "ends early" not in printed


@pytest.mark.usefixtures("pipes")
def test_or_not(run, tmp_path):
    done = run("-o", "out.npz", "--no-wait", "sh", "-c", LEAVES)
    let_go(tmp_path)
    assert done.returncode == 0
    assert " was still running when its recording ended." in done.stderr
    assert "ends early" not in done.stderr


def left_behind(tmp_path, script):
    """Record a shell script, kill simalloc meanwhile, and return the remaining directory.

    The script reads the pipe `go` when it is ready.
    """
    os.mkfifo(tmp_path / "go")
    with started(tmp_path, "sh", "-c", script) as process:
        process.kill()
        process.wait()
        let_go(tmp_path)
        process.stdout.read()  # until the programs have also ended
    (directory,) = tmp_path.glob("out.*.recording")
    return directory


def test_what_was_recorded_is_recovered_when_simalloc_is_killed(run, tmp_path):
    directory = left_behind(tmp_path, "echo ready; cat go")
    done = run("-o", "out.npz", "--recover", directory)
    assert done.returncode == 0
    assert read_trace(tmp_path / "out.npz").provenance["command"][0] == "sh"
    assert not directory.exists()


def test_what_is_damaged_keeps_nothing_else_from_being_recovered(run, tmp_path):
    directory = left_behind(tmp_path, "echo ready; cat go; :")
    first, second = sorted(directory.iterdir())
    headless = directory / "77.1.raw"
    headless.write_bytes(second.read_bytes()[:100])
    with second.open("r+b") as file:
        file.truncate(5000)
    done = run("-o", "out.npz", "--recover", directory)
    assert done.returncode == 2
    for damaged in (second, headless):
        assert f"error: {damaged}: the file " in done.stderr
    assert read_trace(tmp_path / "out.npz").provenance["command"][0] == "sh"
    assert set(directory.iterdir()) == {second, headless}
    assert not first.exists()
    done = run("-o", "out.npz", "--recover", directory)
    assert done.returncode == 2
    assert "did not call malloc" not in done.stderr


def test_a_folder_without_recordings_is_an_error(run, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "contains no raw recordings" in run("-o", "x.npz", "--recover", empty).stderr


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "-c", "import json; print(len(json.dumps(list(range(20000)))))"],
        ["perl", "-e", "my %h; $h{$_ % 999} .= $_ for 1..50000; print scalar(keys %h), qq(\n)"],
        ["git", "--version"],
        ["sort", "-r", "/etc/services"],
        ["bash", "-c", "for i in 1 2 3; do a=$(ls / | wc -l); done; echo $a"],
    ],
)
def test_real_programs(run, tmp_path, monkeypatch, command):
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]}")
    monkeypatch.setenv("PYTHONMALLOC", "malloc")
    alone = subprocess.run(command, check=False, capture_output=True, text=True)
    done = run("-o", "out.npz", "--", *command)
    assert done.stdout == alone.stdout
    assert done.returncode == alone.returncode
    trace = read_trace(tmp_path / "out.npz")
    assert len(trace) > 20
    assert trace.provenance["frees_unseen"] == 0
    assert trace.provenance["frees_of_unknown"] == 0
