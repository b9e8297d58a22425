"""What a policy's decisions do to the heap: the simulation, in C and in plain Python."""

from simalloc.heap.check import Checked, check
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
    "Fragmentation",
    "Moment",
    "Realloc",
    "Run",
    "Tiling",
    "Timeline",
    "check",
    "fragmentation",
    "moment",
    "simulate",
    "simulate_all",
    "tilings",
]
