"""The ways in which policies are run; a description names its own, which is a module in here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simalloc.heap._core import Simulation
    from simalloc.heap.offline import OfflineHeap
    from simalloc.heap.run import Run
    from simalloc.heap.setting import Setting
    from simalloc.policy import Policy


class Way(Protocol):
    """What a module offers that runs policies in its way. It is imported when one is to be run."""

    def run_one(
        self,
        setting: Setting,
        *,
        engine: str = "core",
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
        """Replay a trace under several policies of this way, as `simulate_all` does."""

    def heap_of(self, setting: Setting) -> Simulation | OfflineHeap:
        """Return the heap of a policy before the first event; raises `PolicyError` if none is."""


def way_of(policy: Policy) -> Way:
    """Return the way in which a policy is run."""
    return cast("Way", import_module(f"simalloc.heap.{policy.description.way}"))
