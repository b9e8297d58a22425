"""The runners of policies; a description names its runner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from simalloc.heap._core import Simulation
from simalloc.heap.run import Run
from simalloc.heap.running import event_by_event, whole_trace
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.whole_trace import OfflineHeap
from simalloc.policy import Policy


class Runner(Protocol):
    """Interface of a module that runs policies."""

    def run_one(
        self,
        setting: Setting,
        *,
        addresses: bool = False,
        checked: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Run:
        """Replay a trace under a policy, as `simulate` does."""

    def run_all(
        self,
        settings: Sequence[Setting],
        *,
        addresses: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> list[Run]:
        """Replay a trace under several of the runner's policies, as `simulate_all` does."""

    def heap_of(self, setting: Setting) -> Simulation | OfflineHeap:
        """Return a policy's heap before the first event; raises `PolicyError` if it has none."""


RUNNERS: Final[Mapping[str, Runner]] = {
    "online": event_by_event,
    "offline": whole_trace,
    "device": event_by_event,
    "pool": event_by_event,
}


def runner_of(policy: Policy) -> Runner:
    """Return the runner of a policy."""
    return RUNNERS[policy.description.runner]
