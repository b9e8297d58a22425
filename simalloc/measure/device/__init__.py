"""What a program would need of a device's memory under other settings of its allocator."""

from simalloc.measure.device.search import search
from simalloc.measure.device.smallest import STEP, smallest_device
from simalloc.measure.device.what_if import SETTINGS, Outcome, WhatIf, what_if

__all__ = ["SETTINGS", "STEP", "Outcome", "WhatIf", "search", "smallest_device", "what_if"]
