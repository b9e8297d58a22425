"""Measures of a policy's decisions."""

from simalloc.heap import Fragmentation, fragmentation
from simalloc.measure.atlas import Atlas, atlas
from simalloc.measure.device import DeviceMap, DeviceOutcome, WhatIf, device_map, what_if
from simalloc.measure.free_sizes import FreeSizes, free_sizes
from simalloc.measure.heap_map import HeapMap, heap_map
from simalloc.measure.longest_stays import longest_stays
from simalloc.measure.pins import Pin, Pins, pins
from simalloc.measure.ranking import Rank, rank_values, ranking
from simalloc.measure.stays import Stays
from simalloc.measure.waste import Waste, real_waste, waste
from simalloc.measure.watch import watch

__all__ = [
    "Atlas",
    "DeviceMap",
    "DeviceOutcome",
    "Fragmentation",
    "FreeSizes",
    "HeapMap",
    "Pin",
    "Pins",
    "Rank",
    "Stays",
    "Waste",
    "WhatIf",
    "atlas",
    "device_map",
    "fragmentation",
    "free_sizes",
    "heap_map",
    "longest_stays",
    "pins",
    "rank_values",
    "ranking",
    "real_waste",
    "waste",
    "watch",
    "what_if",
]
