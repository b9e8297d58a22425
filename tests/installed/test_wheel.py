"""The wheel in an empty environment without extras, in which the README's commands must work."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from simalloc.heap.real import installed

PROJECT = Path(__file__).parents[2]
README = (PROJECT / "README.md").read_text("utf-8")


def commands():
    """Return the commands of the README's chapter on the command line, without their comments."""
    chapter = README.split("## On the command line")[1]
    lines = re.search(r"```\n(.*?)```", chapter, re.DOTALL)[1].splitlines()
    return [shlex.split(line, comments=True) for line in lines]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Return the programs of an environment with only the wheel, linked from the local build.

    The build uses a copy of the build folder, because other tests read the original.
    """
    folder = tmp_path_factory.mktemp("wheel")
    built = PROJECT / "build" / sys.implementation.cache_tag.replace("ython-", "")
    copy = built.with_name(f"wheel-{os.getpid()}")
    if built.exists():
        shutil.copytree(built, copy)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = ["wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(folder)]
    _call([*pip, *build, f"-Cbuild-dir={copy}", str(PROJECT)], cwd=folder)
    shutil.rmtree(copy)
    (wheel,) = folder.glob("*.whl")
    _call([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], cwd=folder)
    python = folder / "venv" / "bin" / "python"
    _call([*pip, "--python", str(python), "install", "--no-compile", str(wheel)], cwd=folder)
    return python.parent


@pytest.fixture(scope="module")
def call(environment, tmp_path_factory):
    """Return a function that runs a command of the environment outside the project."""
    folder = tmp_path_factory.mktemp("elsewhere")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    variables = {**kept, "PATH": f"{environment}:{os.environ['PATH']}"}

    def run(*command):
        found = shutil.which(command[0], path=str(environment))
        return subprocess.run(
            [found, *command[1:]],
            cwd=folder,
            env=variables,
            check=False,
            capture_output=True,
            text=True,
        )

    return run


def test_every_command_of_the_readme_works_or_says_which_extra_it_needs(call):
    for command in commands():
        done = call(*command)
        if "--plot" in command:
            assert done.returncode == 2
            assert done.stderr.splitlines()[-1].endswith("pip install 'simalloc[plot]'")
        elif "native" in command and not {"glibc", "jemalloc"} <= {a.name for a in installed()}:
            assert (done.returncode, "jemalloc" in done.stderr) == (2, True)
        else:
            assert done.returncode == 0, f"{command}: {done.stderr}"


def test_every_shipped_trace_is_installed(call):
    shipped = {path.stem for path in (PROJECT / "traces").glob("*.npz")}
    listed = json.loads(call("simalloc", "traces", "--format", "json").stdout)
    assert {row["name"] for row in listed} == shipped
    code = "import simalloc; print(*(len(simalloc.read_trace(n)) for n in ('make', 'jq')))"
    assert call("python", "-c", code).stdout.split() == [
        str(row["events"]) for name in ("make", "jq") for row in listed if row["name"] == name
    ]


def test_the_version_is_that_of_the_sources(call):
    assert call("simalloc", "--version").stdout == _call(
        [sys.executable, "-m", "simalloc", "--version"], cwd=PROJECT
    )


def _call(command, cwd):
    tools = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=cwd, env=tools, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
