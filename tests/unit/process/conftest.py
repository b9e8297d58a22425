"""Fixtures of the snapshot tests."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from process_programs import unpacked

from simalloc.process import LiveProcess, ProcessError

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Return a function that compiles a program of `programs/`."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    try:
        LiveProcess(os.getppid())
    except ProcessError as error:
        pytest.skip(f"other processes may not be read: {error}")
    folder = tmp_path_factory.mktemp("programs")

    def compile_program(name, how=""):
        """Compile a program; `how` is empty, `-static`, or a folder with another unpacked libc."""
        target = folder / f"{name}-{Path(how).name}"
        if not target.exists():
            source = PROGRAMS / f"{name}.c"
            options = unpacked(Path(how)) if "/" in how else [how] if how else []
            command = [compiler, "-O1", "-pthread", source, *options, "-o", target]
            subprocess.run(command, check=True)
        return target

    return compile_program
