"""What a policy's decisions do to the heap: the simulation, in C and in plain Python."""

from simalloc.heap.run import Counters, Realloc, Run, Timeline
from simalloc.heap.simulate import simulate

__all__ = ["Counters", "Realloc", "Run", "Timeline", "simulate"]
