"""A file system of a few kilobytes, for tests with a full disk."""

import subprocess
from contextlib import contextmanager

import pytest


@contextmanager
def small_disk(folder, kib):
    """Mount a file system of `kib` KiB on a new folder; skip the test if that is not permitted."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", folder]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("mounting is not permitted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
