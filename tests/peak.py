"""Peak memory of code in a separate Python process."""

import subprocess
import sys

_PRINTED = """
import re
from pathlib import Path
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
"""Prints VmHWM, because ru_maxrss starts at the parent's value."""


def peak_kib(code, *arguments):
    """Run Python code with arguments and return its peak resident memory in KiB."""
    command = [sys.executable, "-c", code + _PRINTED, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout)
