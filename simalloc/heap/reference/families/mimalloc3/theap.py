"""The heap that a thread has in mimalloc 3."""

from __future__ import annotations

from dataclasses import dataclass

from simalloc.heap.reference.families.mimalloc.theap import Theap as SomeTheap
from simalloc.heap.reference.families.mimalloc3.page import Page


@dataclass(eq=False, kw_only=True)
class Theap(SomeTheap[Page]):
    """State of a thread."""

    sequence: int
    """The thread's number, by first mallocs; the main thread's is 0."""
    full_retain: int
    """Maximum number of full pages that a search leaves in their queue."""
    calls: int = 0
    """The generic mallocs since the last collection."""
    collected: int = 0
    """The generic mallocs before that, since the last full collection."""
    records: tuple[int, ...] = ()
    """The blocks that hold the thread's own records."""
    is_new: bool = False
    """True if the thread, not the main one, has not called malloc yet."""
