"""Verification of a policy: whether its placements are sound, and identical in a second run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import PolicyError
from simalloc.heap.run import Run
from simalloc.heap.run_options import RunKeywords
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay_all, run_of
from simalloc.plural import counted
from simalloc.policy import AnyPolicy
from simalloc.trace import EventSource


@dataclass(frozen=True)
class Checked:
    """A policy that has passed `check`, and the blocks that it may have lost.

    At the end, `unlisted_blocks` free blocks of `unlisted_bytes` program bytes are on no list of
    the heap. If the policy has its own lists, these may contain the blocks; otherwise the blocks
    are lost.
    """

    run: Run
    unlisted_blocks: int
    unlisted_bytes: float

    def __str__(self) -> str:
        text = f"{self.run.policy.name}: {counted(self.run.events, 'event')}, all sound"
        if self.unlisted_blocks:
            blocks = counted(self.unlisted_blocks, "free block")
            text += (
                f"; {blocks} ({self.unlisted_bytes:,.0f} bytes) on no list of the heap: lost, "
                "unless the policy itself keeps such blocks"
            )
        return text


def check(
    policy: AnyPolicy,
    trace: EventSource,
    *,
    progress: Callable[[int], None] | None = None,
    **given: Unpack[RunKeywords],
) -> Checked:
    """Replay a trace under a policy and verify the whole heap after each event.

    Blocks must tile the heap. The lists must contain exactly the inserted blocks, in order and with
    their sizes. An allocated block must have been free, large enough and on no list. Then the trace
    is replayed again: a policy that depends on random numbers or on the time decides differently,
    and its figures would not be reproducible. `progress` is called with the number of events
    verified since its last call.

    The time is proportional to events times blocks: seconds for a hundred thousand events
    (`trace.prefix(100_000)`). Raises `PolicyError` with the event, the fault and the actions of the
    policy in the event, and all errors of `simulate`.
    """
    setting = Setting.of(trace, policy, **given)
    simulation = setting.simulation(checked=True)
    placed, again = (np.empty(len(trace), np.int64) for _ in range(2))
    replay_all(simulation, setting, placed, progress)
    seconds = replay_all(setting.simulation(), setting, again)
    _compare(placed, again)
    blocks, size = simulation.unsearchable()
    run = run_of(simulation, setting, addresses=placed, seconds=seconds)
    return Checked(run, blocks, size / setting.scale)


def _compare(placed: NDArray[np.int64], again: NDArray[np.int64]) -> None:
    differing = np.flatnonzero(placed != again)
    if len(differing):
        event = int(differing[0])
        raise PolicyError(
            f"event {event}: the policy is not deterministic. It placed the object at "
            f"{placed[event]}, and in a second simulation at {again[event]}"
        )
