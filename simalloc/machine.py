"""Resources of this machine."""

from __future__ import annotations

import os
from pathlib import Path


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def memory_bytes() -> int:
    """Return the size of the machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def circumstances() -> dict[str, int | float | str]:
    """Return the known properties of this machine that allocators depend on.

    `cores` is the number of cores that this process may use, and `page` is the page size in bytes.
    `thp` is the mode of transparent huge pages, and `overcommit` is the mode of
    `vm.overcommit_memory`. `cpu_quota` is the CPU limit of the container in cores.
    """
    found: dict[str, int | float | str] = {
        "cores": core_count(),
        "page": os.sysconf("SC_PAGE_SIZE"),
    }
    if thp := system_text("/sys/kernel/mm/transparent_hugepage/enabled").partition("[")[2]:
        found["thp"] = thp.partition("]")[0]
    overcommit = system_text("/proc/sys/vm/overcommit_memory").strip()
    if overcommit.isdigit():
        found["overcommit"] = int(overcommit)
    quota, _, period = system_text("/sys/fs/cgroup/cpu.max").partition(" ")
    if quota.isdigit() and period.strip().isdigit():
        found["cpu_quota"] = int(quota) / int(period)
    return found


def system_text(path: str | Path) -> str:
    """Return the text of a kernel file, or "" if it cannot be read."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
