"""The machine, the compiler and the versions with which a figure was measured."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from simalloc.heap._core import COMPILER


def environment() -> dict[str, str | int | None]:
    """Return the properties of machine and software on which a figure depends."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "compiler": COMPILER,
        "libc": " ".join(platform.libc_ver()),
        "python": f"{platform.python_version()} ({sys.implementation.name})",
        "numpy": np.__version__,
        "simalloc": version("simalloc"),
    }


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
