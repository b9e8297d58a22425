"""The runner of device allocators: as `online`, but for the reference engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.heap import online
from simalloc.heap.online import heap_of, run_all
from simalloc.policy.device import Device

if TYPE_CHECKING:
    from collections.abc import Callable

    from simalloc.heap.run import Run
    from simalloc.heap.setting import Setting

__all__ = ["heap_of", "run_all", "run_one"]


def run_one(
    setting: Setting,
    *,
    engine: str = "core",
    addresses: bool = False,
    checked: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Replay a trace under a device allocator, up to the first request that cannot be served."""
    if engine != "reference":
        return online.run_one(
            setting, engine=engine, addresses=addresses, checked=checked, progress=progress
        )
    from simalloc.heap.reference.device import replay_device  # noqa: PLC0415 - rarely needed

    description = setting.policy.description
    assert isinstance(description, Device)
    return replay_device(
        setting.source.in_memory(), description, realloc=setting.realloc, check=checked
    ).run
