"""A program on a device, in the C core: what is seen after each event, or the figures alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simalloc.heap.device_figures import DeviceReplay, figures_of
from simalloc.heap.run import Realloc
from simalloc.heap.setting import Setting
from simalloc.heap.sight import Watched
from simalloc.heap.stepping import replay_all, run_of
from simalloc.policy import Policy
from simalloc.policy.device.base import GRANULE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.heap.device_figures import DeviceFigures
    from simalloc.policy.device import Device
    from simalloc.trace.trace import Trace


def replay_in_core(
    trace: Trace,
    description: Device,
    realloc: Realloc = Realloc.FREE_FIRST,
    *,
    checked: bool = False,
    goes_on: bool = False,
) -> DeviceReplay:
    """Carry out the events of a trace, up to the first request that cannot be served.

    If it `goes_on`, such a request is left out with all that is told of its object.
    """
    setting = setting_of(trace, description, realloc, goes_on=goes_on)
    watched = Watched(setting, checked=checked, keeps_mappings=True)
    allocated = watched.names.index("allocated_bytes.all.current")
    parts = [(np.empty(0, np.int64),) * 5] + [
        (sight.address, sight.live, sight.mapped, sight.figures[:, allocated], sight.free_blocks)
        for sight in watched.sights()
    ]
    addresses, live, heap, taken, free = (np.concatenate(c) for c in zip(*parts, strict=True))
    run = run_of(watched.simulation, setting, addresses=addresses)
    calls = calls_in(watched.simulation.mappings())
    return DeviceReplay(addresses, live, heap, taken, free, run, calls)


def figures_in_core(
    trace: Trace,
    description: Device,
    realloc: Realloc = Realloc.FREE_FIRST,
    *,
    goes_on: bool = False,
) -> DeviceFigures:
    """Return the figures alone, which takes less time; see `replay_in_core`."""
    setting = setting_of(trace, description, realloc, goes_on=goes_on)
    simulation = setting.simulation()
    replay_all(simulation, setting)
    figures = figures_of(simulation, description)
    assert figures is not None, "it is of a device"
    return figures


def calls_in(mappings: bytes) -> NDArray[np.int64]:
    """Return what was mapped and unmapped as the device grants it, in whole granules."""
    calls = np.frombuffer(mappings, np.int64).reshape(-1, 3).copy()
    sizes = calls[:, 2]
    calls[:, 2] = np.sign(sizes) * -(-abs(sizes) // GRANULE) * GRANULE
    return calls


def setting_of(
    trace: Trace,
    description: Device,
    realloc: Realloc = Realloc.FREE_FIRST,
    *,
    goes_on: bool = False,
) -> Setting:
    """Return the setting of a replay on a device."""
    policy = Policy(description.family, description)
    return Setting(trace, policy, description.only_scale, realloc, goes_on=goes_on)
