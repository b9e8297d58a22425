"""`simalloc snapshot` of processes that the kernel protects from some users."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from command import simalloc
from patience import ending

from simalloc.process import LiveProcess, ProcessError, live

NOBODY = 65534
OF_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": []}

AS_NOBODY = f"""
import os, sys
from click.testing import CliRunner
from simalloc.cli import main
command = ["snapshot", sys.argv[1]]
assert CliRunner().invoke(main, command).exit_code == 0  # imports what nobody may not read
os.setgroups([])
os.setresgid(*[{NOBODY}] * 3)
os.setresuid(*[{NOBODY}] * 3)
result = CliRunner().invoke(main, command)
print(result.stdout + result.stderr)
sys.exit(result.exit_code)
"""

STOPS = """
import sys
from simalloc.process import LiveProcess
with LiveProcess(int(sys.argv[1])).stopped([], []):
    print("ready", flush=True)
    sys.stdin.read()
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")


@contextmanager
def talking(*words, **options):
    """Run a program while the block runs, after it has written a line."""
    pipe = subprocess.PIPE
    with ending(subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, **options)) as child:
        if words == ("cat",):
            child.stdin.write("a line\n")
            child.stdin.flush()
        assert child.stdout.readline()
        yield child


@pytest.fixture(autouse=True)
def _may_read():
    with talking("cat") as child:
        if simalloc("snapshot", child.pid).exit_code:
            pytest.skip("other processes may not be read, or have no heap of glibc")


def python(script, process):
    command = [sys.executable, "-c", script, str(process)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_root
def test_an_ordinary_user_reads_a_process_of_that_user():
    with talking("cat", **OF_NOBODY) as child:
        result = python(AS_NOBODY, child.pid)
    assert result.returncode == 0, result.stderr
    assert " resident: " in result.stdout


@needs_root
def test_a_process_of_another_user_is_refused():
    with talking("cat") as child:
        result = python(AS_NOBODY, child.pid)
    assert result.returncode == 2, result.stderr
    assert "may not be read: it belongs to user 0" in result.stdout
    assert "Run the command as that user or with sudo" in result.stdout


@needs_root
def test_a_protected_process_of_the_same_user_is_refused():
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        unreadable = shutil.copy(shutil.which("cat"), folder)  # its memory is protected
        Path(unreadable).chmod(0o711)
        with talking("cat", executable=unreadable, **OF_NOBODY) as child:
            result = python(AS_NOBODY, child.pid)
    assert result.returncode == 2, result.stderr
    assert "it is protected, or has capabilities that this command lacks" in result.stdout


@needs_root
@pytest.mark.parametrize("words", [["snapshot"], ["record", "-o", "x.npz", "--pid"]])
def test_a_command_without_the_right_to_trace_says_what_to_do(words, tmp_path):
    if shutil.which("setpriv") is None:
        pytest.skip("this needs setpriv")
    less = ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"]
    with talking("cat") as child:
        command = [*less, sys.executable, "-m", "simalloc", *words, str(child.pid)]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 2, result.stdout
    assert "has capabilities that this command lacks" in result.stderr
    assert "start the container with --cap-add SYS_PTRACE" in result.stderr


def test_a_process_that_is_debugged_is_read_but_not_stopped():
    with talking("cat") as child, talking(sys.executable, "-c", STOPS, str(child.pid)) as debugger:
        assert simalloc("snapshot", child.pid).exit_code == 0
        expected = f"process {debugger.pid} is debugging it. End that debugger first"
        with (
            pytest.raises(ProcessError, match=expected),
            LiveProcess(child.pid).stopped([], []),
        ):
            pass


@pytest.mark.parametrize(
    ("level", "advice"),
    [(1, "sysctl kernel.yama.ptrace_scope=0"), (2, "SYS_PTRACE"), (3, "restart the machine")],
)
def test_a_restriction_by_yama_is_named(monkeypatch, level, advice):
    monkeypatch.setattr(live, "_yama", lambda: level)
    with talking("cat") as child:
        message = str(LiveProcess(child.pid).explained(PermissionError()))
    assert f"kernel.yama.ptrace_scope is {level}" in message
    assert advice in message


@needs_root
def test_a_process_in_a_namespace_of_its_own_is_read_from_outside():
    command = ("unshare", "--pid", "--fork", "--mount-proc", "cat")
    if (
        shutil.which("unshare") is None
        or subprocess.run([*command[:-1], "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("namespaces may not be made")
    pipe = subprocess.PIPE
    with ending(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)) as outer:
        outer.stdin.write("a line\n")
        outer.stdin.flush()
        assert outer.stdout.readline()
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
        (inner,) = children.read_text("ascii").split()
        result = simalloc("snapshot", inner)
    assert result.exit_code == 0, result.stderr
    assert "The process was never stopped." in result.stdout
