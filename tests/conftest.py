"""What tests of every kind share: fixtures, and how Hypothesis draws.

It draws the same examples on every machine, as many as the whole run has time for; the environment
variable SIMALLOC_EXAMPLES asks for another number of them.
"""

import os
import shlex
import signal
import subprocess

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "simalloc",
    derandomize=True,
    deadline=None,
    max_examples=int(os.environ.get("SIMALLOC_EXAMPLES", "60")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("simalloc")


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
