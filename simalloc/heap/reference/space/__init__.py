"""The address space of a heap: segments, and the blocks that tile them."""

from simalloc.heap.reference.space.blocks import Blocks, State
from simalloc.heap.reference.space.refused import Exhausted, Refused, needed_by_allocator
from simalloc.heap.reference.space.residence import Residence
from simalloc.heap.reference.space.segments import MAX_BREAK

__all__ = [
    "MAX_BREAK",
    "Blocks",
    "Exhausted",
    "Refused",
    "Residence",
    "State",
    "needed_by_allocator",
]
