"""Which heap carries out which family of policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from simalloc.heap.reference.binary_buddy import BinaryBuddyHeap
from simalloc.heap.reference.binned_fit import BinnedFitHeap
from simalloc.heap.reference.double_buddy import DoubleBuddyHeap
from simalloc.heap.reference.own_policy import OwnPolicyHeap
from simalloc.heap.reference.segregated_storage import SegregatedStorageHeap
from simalloc.heap.reference.sequential_fit import SequentialFitHeap
from simalloc.policy.families import (
    BinaryBuddy,
    BinnedFit,
    DoubleBuddy,
    Family,
    SegregatedStorage,
    SequentialFit,
)
from simalloc.policy.own import PythonCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from simalloc.heap.reference.heap import Heap

HEAPS: Final[Mapping[type[Family], Callable[[Any], Heap]]] = {
    SequentialFit: SequentialFitHeap,
    BinnedFit: BinnedFitHeap,
    SegregatedStorage: SegregatedStorageHeap,
    BinaryBuddy: BinaryBuddyHeap,
    DoubleBuddy: DoubleBuddyHeap,
    PythonCode: OwnPolicyHeap,
}


def heap_for(description: Family) -> Heap:
    """Return an empty heap under the policy described."""
    return HEAPS[type(description)](description)
