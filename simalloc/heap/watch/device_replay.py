"""Replay on a device: the state after each event, or only the figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simalloc.heap.device_figures import DeviceFigures, figures_of
from simalloc.heap.run import Run
from simalloc.heap.run_options import OnRefusal, Realloc
from simalloc.heap.running.run_from_states import run_of_replay
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay_all, run_of
from simalloc.heap.watch.each_event import Watched
from simalloc.policy import Policy
from simalloc.policy.device import Device
from simalloc.policy.device.base import GRANULE
from simalloc.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class DeviceReplay:
    """The states after each replayed event, and the run.

    The arrays have one entry per event (int64, bytes). `addresses` is -1 if the event leaves no
    object. A refused request is the last event unless the program continued.
    """

    addresses: NDArray[np.int64]
    live: NDArray[np.int64]
    heap: NDArray[np.int64]
    allocated: NDArray[np.int64]
    free_blocks: NDArray[np.int64]
    run: Run
    calls: NDArray[np.int64]
    """Calls to the device: event (from 0 on), address, and bytes, negative if returned."""

    @property
    def figures(self) -> DeviceFigures:
        """The allocator's figures."""
        assert self.run.device is not None
        return self.run.device


def replay_device(
    trace: Trace,
    description: Device,
    realloc: Realloc = Realloc.FREE_FIRST,
    *,
    engine: str = "core",
    checked: bool = False,
    goes_on: bool = False,
) -> DeviceReplay:
    """Replay the events of a trace, up to the first refused request.

    With `goes_on`, a refused request is skipped, with all later events of its object.
    """
    setting = _setting(trace, description, realloc, goes_on=goes_on)
    if engine == "reference":
        return _in_reference(setting, checked=checked)
    watched = Watched(setting, checked=checked, keeps_mappings=True)
    allocated = watched.names.index("allocated_bytes.all.current")
    parts = [(np.empty(0, np.int64),) * 5] + [
        (sight.address, sight.live, sight.mapped, sight.figures[:, allocated], sight.free_blocks)
        for sight in watched.sights()
    ]
    addresses, live, heap, taken, free = (np.concatenate(c) for c in zip(*parts, strict=True))
    run = run_of(watched.simulation, setting, addresses=addresses)
    mappings = np.frombuffer(watched.simulation.mappings(), np.int64).reshape(-1, 3)
    return DeviceReplay(addresses, live, heap, taken, free, run, _granted(mappings))


def figures_in_core(
    trace: Trace,
    description: Device,
    realloc: Realloc = Realloc.FREE_FIRST,
    *,
    goes_on: bool = False,
) -> DeviceFigures:
    """Return only the figures, which is faster than `replay_device`."""
    setting = _setting(trace, description, realloc, goes_on=goes_on)
    simulation = setting.simulation()
    replay_all(simulation, setting)
    figures = figures_of(simulation, description)
    assert figures is not None, "the trace is of a device"
    return figures


def _in_reference(setting: Setting, *, checked: bool) -> DeviceReplay:
    from simalloc.heap.reference.replay import replay_setting  # noqa: PLC0415 - rarely needed

    raw = replay_setting(setting, check=checked)
    run = run_of_replay(raw, setting)
    states = raw.addresses, raw.live, raw.heap, raw.allocated, raw.free_blocks
    return DeviceReplay(*states, run, _granted(raw.mappings))


def _granted(mappings: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the mapped and unmapped bytes in whole granules, as the device grants them."""
    calls = mappings.copy()
    sizes = calls[:, 2]
    calls[:, 2] = np.sign(sizes) * -(-abs(sizes) // GRANULE) * GRANULE
    return calls


def _setting(trace: Trace, description: Device, realloc: Realloc, *, goes_on: bool) -> Setting:
    policy = Policy(description.family, description)
    refusal = OnRefusal.GO_ON if goes_on else OnRefusal.STOP
    return Setting.of(trace, policy, realloc=realloc, on_refusal=refusal)
