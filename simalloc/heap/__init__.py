"""What a policy's decisions do to the heap: the simulation, in C and in plain Python."""

from simalloc.heap.check import Checked, check
from simalloc.heap.device import device_run
from simalloc.heap.device_core import figures_in_core, replay_in_core
from simalloc.heap.device_figures import DeviceFigures, DeviceReplay
from simalloc.heap.fragmentation import Fragmentation, fragmentation
from simalloc.heap.moment import (
    CACHED,
    FREE,
    HOLE,
    MAPPED_FROM,
    TABLE,
    WASTE,
    Moment,
    Tiling,
    moment,
    tilings,
)
from simalloc.heap.run import Counters, Realloc, Run, Timeline
from simalloc.heap.simulate import simulate, simulate_all

__all__ = [
    "CACHED",
    "FREE",
    "HOLE",
    "MAPPED_FROM",
    "TABLE",
    "WASTE",
    "Checked",
    "Counters",
    "DeviceFigures",
    "DeviceReplay",
    "Fragmentation",
    "Moment",
    "Realloc",
    "Run",
    "Tiling",
    "Timeline",
    "check",
    "device_run",
    "figures_in_core",
    "fragmentation",
    "moment",
    "replay_in_core",
    "simulate",
    "simulate_all",
    "tilings",
]
