"""Fixtures of all tests, and the settings of Hypothesis.

Hypothesis draws the same examples in every run, up to a time limit: only a change of the code can
make a test fail. The environment variable SIMALLOC_EXAMPLES sets another number of examples, and
the option `--hypothesis-profile=anew` draws new examples.
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
"""Folders with slow tests."""


def pytest_collection_modifyitems(items):
    """Run slow tests first, so that no worker still runs one when the others have finished."""

    def place(item):
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        return LONG.index(folder) if folder in LONG else len(LONG)

    items.sort(key=place)


def pytest_configure():
    """Restore Ctrl-C, which processes ignore if a shell started them in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def same_examples():
    """Make examples independent of the modules that a run has imported so far.

    Hypothesis includes the numbers in the modules' sources in its draws. Older versions, which do
    not, are left unchanged.
    """
    with suppress(ImportError):
        from hypothesis.internal.conjecture import providers  # noqa: PLC0415 - not in old versions

        if settings().derandomize:
            providers._get_local_constants = lambda: providers._local_constants


@pytest.fixture
def shared_library(tmp_path):
    """Return a function that compiles C into a shared library and returns its path."""

    def build(source):
        path = tmp_path / "libmade.so"
        compiler = shlex.split(os.environ.get("CC", "cc"))
        command = [*compiler, "-shared", "-fPIC", "-O1", "-x", "c", "-o", str(path), "-"]
        subprocess.run(command, input=source.encode(), check=True)
        return path

    return build
