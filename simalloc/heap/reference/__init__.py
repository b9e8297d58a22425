"""The reference engine: every family in plain Python, written to be read, not to be fast.

The C core is the product; this is its definition (docs/policies.md in code). On any trace both
place every object at the same address.
"""

from simalloc.heap.reference.families import heap_for
from simalloc.heap.reference.replay import replay
from simalloc.heap.reference.simulate import simulate_reference

__all__ = [
    "heap_for",
    "replay",
    "simulate_reference",
]
