"""The reference engine's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.heap.reference.replay import replay
from simalloc.heap.run import Realloc
from simalloc.heap.states import run_of_replay
from simalloc.policy import Family

if TYPE_CHECKING:
    from simalloc.heap.run import Run
    from simalloc.policy import Policy
    from simalloc.trace.trace import Trace


def simulate_reference(
    trace: Trace,
    policy: Policy,
    *,
    scale: int = 16,
    realloc: Realloc = Realloc.FREE_FIRST,
    check: bool = False,
) -> Run:
    """Replay `trace` under `policy` in plain Python; the run keeps the addresses.

    With `check` the invariants of the heap are asserted after each event. Raises `SimallocError` if
    the heap would exceed 2**62 scaled bytes.
    """
    description = policy.description
    assert isinstance(description, Family), "device allocators have a replay of their own"
    raw = replay(trace, description, scale=scale, realloc=realloc, check=check)
    return run_of_replay(raw, trace, policy, scale=scale, realloc=realloc)
