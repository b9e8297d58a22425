"""Fixtures for tests of every kind."""

import os
import shlex
import subprocess

import pytest


@pytest.fixture
def shared_library(tmp_path):
    """A function that compiles C into a shared library and returns its path."""

    def build(source):
        path = tmp_path / "libmade.so"
        compiler = shlex.split(os.environ.get("CC", "cc"))
        command = [*compiler, "-shared", "-fPIC", "-O1", "-x", "c", "-o", str(path), "-"]
        subprocess.run(command, input=source.encode(), check=True)
        return path

    return build
