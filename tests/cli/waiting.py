"""A policy that holds up a sweep as long as a test requires, so that it cannot end too early."""

POLICY = """
import os, time
from pathlib import Path
from simalloc.policy import UserPolicy

class Waits(UserPolicy):
    def begin(self, trace):
        if trace.name == {trace!r}:
            Path({folder!r}, f"waits-{{os.getpid()}}").touch()
            while not Path({folder!r}, "go").exists():
                time.sleep(0.02)

    def malloc(self, heap, size):
        return heap.extend(size)

    def free(self, heap, block):
        heap.insert(block)
"""


def make_waiting_policy(folder, trace):
    """Write a policy that waits on one trace, and return the line that adds it to a plan.

    The policy waits until the folder contains a file `go`.
    """
    (folder / "waits.py").write_text(POLICY.format(folder=str(folder), trace=trace))
    return '[policies."waits.py:Waits"]\n'


def processes_waiting(folder):
    """Return the processes in which the policy has started to wait."""
    return [int(path.name.partition("-")[2]) for path in folder.glob("waits-*")]
