"""Simulation by the reference engine."""

from __future__ import annotations

from simalloc.heap.reference.replay import replay_setting
from simalloc.heap.run import Run
from simalloc.heap.running.run_from_states import run_of_replay
from simalloc.heap.running.setting import Setting


def simulate_reference(setting: Setting, *, check: bool = False) -> Run:
    """Replay a trace under a policy in plain Python; the run keeps the addresses.

    With `check` the invariants of the heap are asserted after each event. Raises `SimallocError` if
    the heap would exceed 2**62 scaled bytes.
    """
    return run_of_replay(replay_setting(setting, check=check), setting)
