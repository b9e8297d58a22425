"""The device memory that a program needs under other settings of its allocator."""

from simalloc.measure.device.memory_map import DeviceMap, device_map
from simalloc.measure.device.outcomes import DeviceOutcome
from simalloc.measure.device.pinned import Pinned
from simalloc.measure.device.search import CANDIDATES, search
from simalloc.measure.device.what_if import SETTINGS, WhatIf, what_if

__all__ = [
    "CANDIDATES",
    "SETTINGS",
    "DeviceMap",
    "DeviceOutcome",
    "Pinned",
    "WhatIf",
    "device_map",
    "search",
    "what_if",
]
