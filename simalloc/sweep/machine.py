"""What this machine has."""

from __future__ import annotations

import os


def default_jobs() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def default_memory() -> int:
    """Return three quarters of this machine's memory, in bytes."""
    return installed_memory() * 3 // 4


def installed_memory() -> int:
    """Return the bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
