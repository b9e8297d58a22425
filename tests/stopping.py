"""Tests that stop a running process."""

import subprocess

import pytest

from simalloc.process import LiveProcess, ProcessError


def require_stopping():
    """Skip the test if processes may not be stopped."""
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            with LiveProcess(child.pid).stopped([], []):
                pass
        except ProcessError as error:
            pytest.skip(f"processes may not be stopped: {error}")
        finally:
            child.kill()
