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
        " The next search starts at the rover: the remainder, or the following block if the "
        "block fitted exactly. Under LIFO and FIFO, a freed block enters the list just before "
        "the rover; under LIFO, it becomes the rover."
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
            "Best fit, as the paper states. The rules are those of 2.6.6 without two features that "
            "its change log dates after 2.6.1: mapped blocks, and the use of the last remainder "
            "for large requests. The code of 2.6.1 differs (docs/real-allocators.md). Below 64 "
            "KiB, it uses the oldest sufficient block of a bin, not the best. It never allocates "
            "the last 16 bytes below the break."
        ),
    ),
    Policy(
        "binary-buddy",
        BinaryBuddy(),
        source=f"{_PAPER}, section 2.3.1; Knowlton 1965",
        reading=(
            "The heap is one aligned address space. Among free blocks of one size, the oldest is "
            "used. The low half of a split block is used. With order=lifo or order=ao, only four "
            "of the shipped traces have another peak heap. The maximum difference is 2.2 %, for "
            "make."
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
            "The sizes are 16, 24, 32, 48 ... scaled bytes. The sizes 3 * 2**N are cut from "
            "growths of 6 KiB, as in the paper's text; growth_3x=4K best matches the printed "
            "tables."
        ),
    ),
)
