"""What a policy's decisions cost."""

from simalloc.measure.fragmentation import Fragmentation, fragmentation
from simalloc.measure.heap_map import HeapMap, heap_map
from simalloc.measure.pins import Pin, Pins, pins
from simalloc.measure.ranking import Rank, ranking

__all__ = [
    "Fragmentation",
    "HeapMap",
    "Pin",
    "Pins",
    "Rank",
    "fragmentation",
    "heap_map",
    "pins",
    "ranking",
]
