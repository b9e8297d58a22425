"""Fixtures of all tests, and the settings of Hypothesis.

It draws the same examples in every run, up to a limit of time: a test cannot fail in a run whose
change did not break it. The environment variable SIMALLOC_EXAMPLES sets another number of examples,
and the option `--hypothesis-profile=anew` draws new ones.
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
    """Restore Ctrl-C, which a process that a shell starts in the background ignores."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def same_examples():
    """Make examples independent of the modules that a run has imported by now.

    Hypothesis mixes the numbers in their sources into its draws; older versions do not, and are
    left unchanged.
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
