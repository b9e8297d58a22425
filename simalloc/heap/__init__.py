"""What a policy's decisions do to the heap: the simulation, in C and in plain Python."""

from simalloc.heap.moment import Moment, moment
from simalloc.heap.run import Counters, Realloc, Run, Timeline
from simalloc.heap.simulate import simulate

__all__ = ["Counters", "Moment", "Realloc", "Run", "Timeline", "moment", "simulate"]
