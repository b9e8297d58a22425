"""mimalloc: which of its two models follows a description."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.heap.reference.families.mimalloc3 import Mimalloc3Heap

if TYPE_CHECKING:
    from simalloc.heap.reference.heap import Heap
    from simalloc.policy.families.mimalloc import Mimalloc


def heap_of_version(description: Mimalloc) -> Heap:
    """Return an empty heap of the release that is meant."""
    return Mimalloc3Heap(description)
