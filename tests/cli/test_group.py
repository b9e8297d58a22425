"""The start, the help and the exit of the command line."""

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module

import click
import pytest
from command import simalloc

from simalloc.cli import COMMANDS
from simalloc.cli.group import LazyGroup
from simalloc.errors import SimallocError
from simalloc.policy import CATALOGUE, GROUPS
from simalloc.version import code_version


def arguments(name):
    given = import_module(COMMANDS[name].module).command.params
    return [one.metavar or "" for one in given if isinstance(one, click.Argument)]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_its_summary_and_ends_with_an_example(name):
    command = import_module(COMMANDS[name].module).command
    assert command.name == name
    assert command.help.splitlines()[0] == COMMANDS[name].summary
    help_text = simalloc(name, "--help").stdout
    assert f"simalloc {name}" in help_text.rpartition("Example:")[2]


def test_help_lists_the_commands_and_imports_none():
    code = (
        "import sys; from simalloc.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as leaving: assert leaving.code == 0\n"
        "assert not {'numpy', 'rich'} & set(sys.modules)"
    )
    text = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    assert all(name in text.decode() for name in COMMANDS)


def test_commands_and_options_are_completed():
    commands = complete("simalloc re", 1)
    assert set(commands.split()) == {f"plain,{name}" for name in COMMANDS if name[:2] == "re"}
    options = complete("simalloc run --", 2)
    assert "plain,--policy" in options.split()


def test_names_of_traces_and_policies_are_completed():
    assert complete("simalloc run esp", 2).split() == ["file,esp", "plain,espresso"]
    assert set(complete("simalloc run espresso -p next", 4).split()) == {
        f"plain,{name}" for name in CATALOGUE if name.startswith("next")
    }
    assert complete("simalloc run espresso -p @john", 4) == "plain,@johnstone-wilson\n"
    assert complete("simalloc policies lea-2.6.1", 2) == "plain,lea-2.6.1\n"
    assert complete("simalloc steps p2c -p next-fit-ao,first-fit-l", 4).split() == [
        "plain,next-fit-ao,first-fit-lifo"
    ]
    again = complete("simalloc run espresso -p next-fit-ao first-fit-l", 5).split()
    assert again == ["file,first-fit-l", "plain,first-fit-lifo"], "one -p takes several words"


@pytest.mark.parametrize(
    "name",
    [name for name in COMMANDS if any("TRACE" in metavar for metavar in arguments(name))],
)
def test_every_command_that_takes_traces_completes_them(name):
    assert "plain,espresso" in complete(f"simalloc {name} esp", 2).split()


def test_the_shells_show_what_a_policy_is():
    zsh = {"_SIMALLOC_COMPLETE": "zsh_complete", "COMP_WORDS": "simalloc policies phk"}
    assert simalloc(prog_name="simalloc", env={**zsh, "COMP_CWORD": "2"}).stdout.splitlines() == [
        "plain",
        "phk",
        " ".join(CATALOGUE["phk"].source.split()),
    ]
    for shell in ("bash", "zsh", "fish"):
        script = simalloc(prog_name="simalloc", env={"_SIMALLOC_COMPLETE": f"{shell}_source"})
        assert f"_SIMALLOC_COMPLETE={shell}_complete" in script.stdout


SHELLS = {
    "bash": """
        eval "$(_SIMALLOC_COMPLETE=bash_source simalloc)"
        COMP_WORDS=(LINE) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _simalloc_completion simalloc
        echo "${COMPREPLY[@]}"
    """,
    "zsh": """
        compdef() {}
        eval "$(_SIMALLOC_COMPLETE=zsh_source simalloc)"
        _describe() { print -l -- "${(P@)3%%:*}" }
        _path_files() {}
        words=(LINE) CURRENT=${#words}
        _simalloc_completion
    """,
    "fish": """
        _SIMALLOC_COMPLETE=fish_source simalloc | source
        complete -C "LINE" | cut -f 1
    """,
}
"""Command lines that source the completion by the README's line and complete LINE."""


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("simalloc run esp", "espresso"),
        ("simalloc run p2c -p lea-2.6.1,@john", "lea-2.6.1,@johnstone-wilson"),
        ("simalloc results --rank 4 --re", "--resamples"),
    ],
)
def test_the_shells_complete_by_the_lines_of_the_readme(tmp_path, shell, line, completed):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    command = tmp_path / "simalloc"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{START}"\n')
    command.chmod(0o755)
    env = {**os.environ, "HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = SHELLS[shell].replace("LINE", line)
    ended = subprocess.run(
        [shell, "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == [completed], ended.stderr


START = "import sys; sys.argv[0] = 'simalloc'; from simalloc.cli import main; main()"


def complete(words, at):
    """Return the program's completions for a shell."""
    asked = {"_SIMALLOC_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
    return simalloc(prog_name="simalloc", env=asked).stdout


@pytest.mark.parametrize("args", [("nonsense",), ("policies", "--format", "xml"), ("--nonsense",)])
def test_wrong_usage_is_one_error_and_exit_code_2(args):
    result = simalloc(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("simalloc: error: ")
    assert "--help`" in result.stderr


def test_without_a_command_the_help_goes_to_stderr():
    result = simalloc()
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Simulate:" in result.stderr


def test_version():
    assert simalloc("--version").stdout == f"simalloc {code_version()}\n"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (SimallocError("all wrong"), 2, "simalloc: error: all wrong\n"),
        (
            FileNotFoundError(2, "No such file", "x.npz"),
            2,
            "simalloc: error: x.npz: No such file\n",
        ),
        (
            FileNotFoundError(2, "No such file", "nowhere/x.npz"),
            2,
            "simalloc: error: nowhere/x.npz: folder nowhere does not exist\n",
        ),
        (
            MemoryError("Unable to allocate 7 GiB"),
            2,
            "simalloc: error: memory is exhausted: Unable to allocate 7 GiB\n",
        ),
        (KeyboardInterrupt(), 130, "\nsimalloc: interrupted\n"),
    ],
)
def test_how_errors_end(monkeypatch, error, code, message):
    @click.command()
    def command():
        raise error

    monkeypatch.setattr(LazyGroup, "get_command", lambda *_: command)
    result = simalloc("run")
    assert result.exit_code == code
    assert result.stderr.lstrip("\n") == message.lstrip("\n")


IMPORTED = "class Fake:\n def __getattr__(self, name): raise KeyboardInterrupt"
FINALIZED = """
import time
class Lost:
    def __del__(self): raise KeyboardInterrupt
class Fake:
    def main(self):
        Lost()
        time.sleep(60)
"""


@pytest.mark.parametrize("fake", [IMPORTED, FINALIZED], ids=["imports", "finalizer"])
def test_ctrl_c_is_heard_at_any_moment(fake):
    code = f"import sys; from simalloc.__main__ import main\n{fake}\n"
    code += "sys.modules['simalloc.cli'] = Fake(); main()"
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (130, "\nsimalloc: interrupted\n")


def test_a_closed_pipe_ends_quietly():
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run(
        [sys.executable, "-m", "simalloc", "policies", "--format", "csv"],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert result.returncode == 1
    assert result.stderr == b""


def shell(line):
    return subprocess.run(
        ["sh", "-c", f'"$0" -m simalloc {line}', sys.executable], capture_output=True, check=False
    )


@pytest.mark.parametrize("line", ["policies >&-", "export make -o - >&-"])
def test_a_closed_stdout_is_an_error(line):
    done = shell(line)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == b"simalloc: error: Bad file descriptor"
    assert b"Traceback" not in done.stderr


def test_a_full_stdout_is_one_error():
    done = shell("policies > /dev/full")
    assert done.returncode == 2
    assert done.stderr == b"simalloc: error: No space left on device\n"


def test_what_needs_no_stdout_or_stderr_does_without(tmp_path):
    assert shell(f"export make -o {tmp_path / 'log'} >&- 2>&-").returncode == 0
    assert (tmp_path / "log").stat().st_size > 100_000
    done = shell("policies 2>&-")
    assert done.returncode == 0
    assert b"first-fit-ao" in done.stdout


def test_policies_lists_the_whole_catalogue():
    rows = json.loads(simalloc("policies", "--format", "json").stdout)
    assert [row["name"] for row in rows] == list(CATALOGUE)
    assert all(row["source"] for row in rows)
    lines = simalloc("policies").stdout.splitlines()
    for name, row in CATALOGUE.items():
        assert any(line.split()[:1] == [name] and row.family in line for line in lines)
    assert max(map(len, lines)) <= 120
    group = simalloc("policies", "@real", "--format", "csv").stdout.splitlines()
    assert [line.partition(",")[0] for line in group[1:]] == list(GROUPS["real"])


def test_policies_that_do_not_exist():
    for name, reason in (("worst-fit", "unknown policy"), ("@nobody", "unknown group @nobody")):
        result = simalloc("policies", name)
        assert result.exit_code == 2
        assert reason in result.stderr


def test_an_unknown_command_is_answered_by_the_nearest():
    ended = simalloc("rum")
    assert ended.exit_code == 2
    assert "unknown command 'rum'; did you mean run?" in ended.stderr
