"""The reference engine: every family in plain Python, written to be read, not to be fast.

It defines the behaviour of the C core (docs/policies.md in code). On any trace both engines place
every object at the same address.
"""

from simalloc.heap.reference.families import heap_for
from simalloc.heap.reference.replay import replay
from simalloc.heap.reference.simulate import simulate_reference

__all__ = [
    "heap_for",
    "replay",
    "simulate_reference",
]
