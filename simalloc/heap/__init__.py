"""Simulation of a policy's effect on the heap, in C and in plain Python."""

from simalloc.heap.footprint import Footprint, Timeline
from simalloc.heap.fragmentation import Fragmentation
from simalloc.heap.run import Run, fragmentation
from simalloc.heap.run_options import Realloc
from simalloc.heap.running.check import Checked, check
from simalloc.heap.simulate import simulate, simulate_all
from simalloc.heap.snapshot import (
    CACHED,
    FREE,
    HOLE,
    LOWEST_POWER,
    MAPPED_FROM,
    SIZE_POWERS,
    TABLE,
    WASTE,
    HeapSnapshot,
)
from simalloc.heap.watch.heap_replay import HeapObserver, HeapReplay
from simalloc.heap.watch.take_snapshot import event_or_peak, heap_snapshot

__all__ = [
    "CACHED",
    "FREE",
    "HOLE",
    "LOWEST_POWER",
    "MAPPED_FROM",
    "SIZE_POWERS",
    "TABLE",
    "WASTE",
    "Checked",
    "Footprint",
    "Fragmentation",
    "HeapObserver",
    "HeapReplay",
    "HeapSnapshot",
    "Realloc",
    "Run",
    "Timeline",
    "check",
    "event_or_peak",
    "fragmentation",
    "heap_snapshot",
    "simulate",
    "simulate_all",
]
