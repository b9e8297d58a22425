"""What tests of every kind share: fixtures, and how Hypothesis draws.

It draws the same examples in every run, as many as the whole run has time for: what a change did
not break does not fail beside it. The environment variable SIMALLOC_EXAMPLES asks for another
number of them, and the option `--hypothesis-profile=anew` for examples that nobody has seen.
"""

import os
import shlex
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "same",
    derandomize=True,
    deadline=None,
    max_examples=int(os.environ.get("SIMALLOC_EXAMPLES", "20")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "anew", settings.get_profile("same"), derandomize=False, database=None, print_blob=True
)
settings.load_profile("same")


LONG = ("property", "truth", "papers", "installed", "notebooks", "cli", "fuzz")
"""The folders whose files take long."""


def pytest_collection_modifyitems(items):
    """Put what takes long first, so that no worker is left with it in the end."""

    def place(item):
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        return LONG.index(folder) if folder in LONG else len(LONG)

    items.sort(key=place)


def pytest_configure():
    """Listen to Ctrl-C: what a shell starts in the background ignores it, with its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def same_examples():
    """Do not let examples depend on which modules a run has imported by now.

    Hypothesis mixes the numbers that it finds in their source into what it draws; older versions,
    which do not, are left as they are.
    """
    with suppress(ImportError):
        from hypothesis.internal.conjecture import providers  # noqa: PLC0415 - where there is one

        if settings().derandomize:
            providers._get_local_constants = lambda: providers._local_constants


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
