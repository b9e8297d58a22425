"""What a policy's decisions cost."""

from simalloc.measure.fragmentation import Fragmentation, fragmentation
from simalloc.measure.heap_map import HeapMap, heap_map

__all__ = ["Fragmentation", "HeapMap", "fragmentation", "heap_map"]
