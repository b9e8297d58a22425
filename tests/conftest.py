"""Fixtures for tests of every kind."""

import os
import shlex
import signal
import subprocess

import pytest


def pytest_configure():
    """Listen to Ctrl-C: what a shell starts in the background ignores it, with its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
