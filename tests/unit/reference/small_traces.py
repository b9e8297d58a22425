"""Traces written in one line, and heaps with allocated blocks."""

from simalloc.heap.reference import heap_for
from simalloc.trace.trace import Trace

OPS = {"m": 0, "f": 1, "r": 2}


def trace(text):
    """Return the trace of a text such as `m0:10 r0:20 f0`."""
    events = [(OPS[word[0]], *map(int, word[1:].split(":"))) for word in text.split()]
    columns = [[event[i] if i < len(event) else 0 for event in events] for i in range(3)]
    return Trace.from_events(*columns)


def heap_with(description, *sizes):
    """Return a heap with blocks of `sizes` allocated in turn."""
    made = heap_for(description)
    for size in sizes:
        made.malloc(size)
    return made
