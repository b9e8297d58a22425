"""Choice between the models of the two mimalloc releases."""

from __future__ import annotations

from simalloc.heap.reference.families.mimalloc2.mimalloc2 import Mimalloc2Heap
from simalloc.heap.reference.families.mimalloc3.mimalloc3 import Mimalloc3Heap
from simalloc.heap.reference.heap import Heap
from simalloc.policy.families.mimalloc import Mimalloc, MimallocVersion


def heap_of_version(description: Mimalloc) -> Heap:
    """Return an empty heap of the described release."""
    if description.version is MimallocVersion.V2_0_9:
        return Mimalloc2Heap(description)
    return Mimalloc3Heap(description)
