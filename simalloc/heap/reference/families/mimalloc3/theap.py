"""The heap that a thread has in mimalloc 3."""

from __future__ import annotations

from dataclasses import dataclass

from simalloc.heap.reference.families.mimalloc.theap import Theap as SomeTheap
from simalloc.heap.reference.families.mimalloc3.page import Page


@dataclass(eq=False, kw_only=True)
class Theap(SomeTheap[Page]):
    """What a thread has for itself."""

    sequence: int
    """The thread's number, by first mallocs; the main thread's is 0."""
    full_retain: int
    """How many full pages a search leaves in their queue."""
    calls: int = 0
    """The generic mallocs since the last collection."""
    collected: int = 0
    """The generic mallocs before that, since the last full collection."""
    records: tuple[int, ...] = ()
    """The blocks that hold the thread's own records."""
    is_new: bool = False
    """Whether the thread, not the main one, has not called malloc yet."""
