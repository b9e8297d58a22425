"""With a thousand size classes, only lists in use need memory."""

import subprocess
import sys

import pytest

from simalloc.api.traces import read_trace
from simalloc.heap import simulate

IN_ONE_GIBIBYTE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from simalloc import read_trace, simulate
print(simulate(read_trace("espresso").prefix(20_000), sys.argv[1]).mapped.peak_bytes)
"""


@pytest.mark.parametrize("name", ["sgf-ff", "sqf-ffwc"])
def test_1024_classes_need_few_addresses(name):
    policy = f"{name}:classes=1024"
    command = [sys.executable, "-c", IN_ONE_GIBIBYTE, policy]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    reference = simulate(read_trace("espresso").prefix(20_000), policy, engine="reference")
    assert float(done.stdout) == reference.mapped.peak_bytes
