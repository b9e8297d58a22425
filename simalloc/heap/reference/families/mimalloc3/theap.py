"""A thread's heap in mimalloc 3."""

from __future__ import annotations

from dataclasses import dataclass

from simalloc.heap.reference.families.mimalloc.theap import Theap as SomeTheap
from simalloc.heap.reference.families.mimalloc3.page import Page


@dataclass(eq=False, kw_only=True)
class Theap(SomeTheap[Page]):
    """State of a thread."""

    sequence: int
    """Number of the thread in the order of first mallocs; the main thread is 0."""
    full_retain: int
    """Maximum number of full pages that a search leaves in their queue."""
    calls: int = 0
    """Number of generic mallocs since the latest regular collection."""
    collected: int = 0
    """Number of generic mallocs between the latest full and the latest regular collection."""
    records: tuple[int, ...] = ()
    """Blocks that contain the thread's own records."""
    is_new: bool = False
    """True if the thread has not called malloc yet; never for the main thread."""
