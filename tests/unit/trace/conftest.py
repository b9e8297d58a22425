"""Fixtures for tests of traces and their formats."""

import pytest


@pytest.fixture
def log(tmp_path):
    """Return a function that writes a log and returns its path."""

    def write(content, name="log.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
