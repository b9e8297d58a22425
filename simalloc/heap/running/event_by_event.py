"""The runner of online policies, which place objects event by event."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from simalloc.heap._core import Simulation
from simalloc.heap.run import Run
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.side_by_side import replay_side_by_side
from simalloc.heap.running.strides import replay_all, run_of


def run_one(
    setting: Setting,
    *,
    addresses: bool = False,
    checked: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Replay a trace as `simulate` does; the reference engine always keeps the addresses."""
    if setting.options.engine == "reference":
        from simalloc.heap.reference import simulate_reference  # noqa: PLC0415 - rarely needed

        return simulate_reference(setting, check=checked)
    simulation = setting.simulation(checked=checked)
    placed = np.empty(len(setting.source), np.int64) if addresses else None
    seconds = replay_all(simulation, setting, placed, progress)
    return run_of(simulation, setting, addresses=placed, seconds=seconds)


def run_all(
    settings: Sequence[Setting],
    *,
    addresses: bool = False,
    progress: Callable[[int], None] | None = None,
) -> list[Run]:
    """Replay a trace under several policies side by side, on all cores."""
    return replay_side_by_side(settings, addresses=addresses, progress=progress)


def heap_of(setting: Setting) -> Simulation:
    """Return the heap of a policy before the first event."""
    return setting.simulation()
