"""The sixteen policies of Johnstone & Wilson 1998, tables 3 and 4, as the paper describes them.

The printed tables fit other growth units than those in the text: see experiments/johnstone_wilson.
"""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.binary_buddy import BinaryBuddy
from simalloc.policy.families.binned_fit import BinnedFit
from simalloc.policy.families.double_buddy import DoubleBuddy
from simalloc.policy.families.segregated_storage import SegregatedStorage
from simalloc.policy.families.sequential_fit import SequentialFit
from simalloc.policy.parts import Fit, Order, Series

GROUP: Final = "johnstone-wilson"
TITLE: Final = "the sixteen policies of Johnstone & Wilson 1998"

_PAPER: Final = "Johnstone & Wilson 1998"

_LIST_READING: Final = (
    "The low end of a split block is allocated and the remainder keeps the block's place in the "
    "list; a freed block enters the list merged with its free neighbours; new memory enters as a "
    "freed block, and the free block at the end of the heap counts towards it."
)
_FIT_READING: Final = {
    Fit.FIRST: "",
    Fit.NEXT: (
        " The next search starts at the remainder, or behind an exact fit; a freed block enters "
        "under the rover (LIFO) or just behind it (FIFO)."
    ),
    Fit.BEST: " Ties go to the first in list order.",
}


def _sequential_fit(fit: Fit, order: Order, *, eight_k: bool = False) -> Policy:
    return Policy(
        f"{fit.value}-fit-{order.value}{'-8k' if eight_k else ''}",
        SequentialFit(fit, order, growth=8192 if eight_k else 4096),
        source=f"{_PAPER}, section 2.1",
        reading=_LIST_READING + _FIT_READING[fit],
        groups=() if eight_k else ("textbook",),
    )


POLICIES: Final = (
    _sequential_fit(Fit.BEST, Order.ADDRESS, eight_k=True),
    _sequential_fit(Fit.BEST, Order.ADDRESS),
    _sequential_fit(Fit.BEST, Order.LIFO),
    _sequential_fit(Fit.BEST, Order.FIFO),
    _sequential_fit(Fit.FIRST, Order.ADDRESS, eight_k=True),
    _sequential_fit(Fit.FIRST, Order.ADDRESS),
    _sequential_fit(Fit.FIRST, Order.LIFO),
    _sequential_fit(Fit.FIRST, Order.FIFO),
    _sequential_fit(Fit.NEXT, Order.ADDRESS),
    _sequential_fit(Fit.NEXT, Order.LIFO),
    _sequential_fit(Fit.NEXT, Order.FIFO),
    Policy(
        "lea-2.6.1",
        BinnedFit(),
        source=f"{_PAPER}, section 2.2.2; Lea, malloc.c 2.6.1 by its change log",
        reading=(
            "Best fit, as the paper says: the placement of 2.6.6 without what its change log dates "
            "later (mapped blocks, the last remainder for large requests). The code of 2.6.1 takes "
            "the first fit of a bin, the oldest first, below 64 KiB (docs/real-allocators.md). The "
            "16 bytes that it always leaves of the last block are left out."
        ),
    ),
    Policy(
        "binary-buddy",
        BinaryBuddy(),
        source=f"{_PAPER}, section 2.3.1; Knowlton 1965",
        reading=(
            "One aligned space; the low half of a split block is used; among free blocks of a size "
            "the oldest. Newest or lowest first changes the peak heap of four of the shipped "
            "traces, by 2.2 % at most (make)."
        ),
    ),
    Policy(
        "double-buddy",
        DoubleBuddy(),
        source=f"{_PAPER}, section 2.3.2; Wise 1978",
        reading=(
            "A request takes the smallest size of either series; blocks merge within the growth "
            "they came from; low half first, lowest address first."
        ),
    ),
    Policy(
        "simple-seg-2n",
        SegregatedStorage(Series.POWERS),
        source=f"{_PAPER}, section 2.2.1",
        reading="Sizes from 16 scaled bytes up; the block freed last is used first.",
    ),
    Policy(
        "simple-seg-2n-3x2n",
        SegregatedStorage(Series.POWERS_AND_THREES),
        source=f"{_PAPER}, section 2.2.1",
        reading=(
            "Sizes 16, 24, 32, 48 ... scaled bytes. The text cuts the sizes 3 * 2**N from 6 KiB, "
            "as here; growth_3x=4K comes nearest to the printed tables."
        ),
    ),
)
