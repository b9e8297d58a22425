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
    "The low end of a split block is allocated, and the remainder keeps the block's "
    "position in the list. A freed block merges with its free neighbours and then enters "
    "the list. New memory enters like a freed block, and the free block at the end of "
    "the heap counts towards a growth."
)
_FIT_READING: Final = {
    Fit.FIRST: "",
    Fit.NEXT: (
        " The next search starts at the remainder, or after an exact fit at the following "
        "block. Under LIFO and FIFO, a freed block enters just before the rover's block; "
        "under LIFO, the rover then moves onto it."
    ),
    Fit.BEST: " Among equal blocks, the first in list order is used.",
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
            "Best fit, as the paper states. The rules are those of 2.6.6 without later additions "
            "by its change log: mapped blocks, and the last remainder for large requests. Below "
            "64 KiB the code of 2.6.1 instead uses the oldest block of a bin that fits "
            "(docs/real-allocators.md). The 16 bytes of the last block that it never allocates "
            "are not modelled."
        ),
    ),
    Policy(
        "binary-buddy",
        BinaryBuddy(),
        source=f"{_PAPER}, section 2.3.1; Knowlton 1965",
        reading=(
            "The heap is one aligned address space. The low half of a split block is used, and "
            "the oldest of the free blocks of a size. The newest or the lowest block instead "
            "changes the peak heap of four of the shipped traces, by at most 2.2 % (make)."
        ),
    ),
    Policy(
        "double-buddy",
        DoubleBuddy(),
        source=f"{_PAPER}, section 2.3.2; Wise 1978",
        reading=(
            "A request takes the smallest sufficient size of either series. Blocks merge only "
            "within the growth that created them. The low half of a split block and the lowest "
            "block of a size are used first."
        ),
    ),
    Policy(
        "simple-seg-2n",
        SegregatedStorage(Series.POWERS),
        source=f"{_PAPER}, section 2.2.1",
        reading="The smallest size is 16 scaled bytes. The block freed last is used first.",
    ),
    Policy(
        "simple-seg-2n-3x2n",
        SegregatedStorage(Series.POWERS_AND_THREES),
        source=f"{_PAPER}, section 2.2.1",
        reading=(
            "The sizes are 16, 24, 32, 48 ... scaled bytes. The sizes 3 * 2**N are cut from 6 "
            "KiB, as in the paper's text; growth_3x=4K best matches the printed tables."
        ),
    ),
)
