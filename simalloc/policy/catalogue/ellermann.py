"""The basic methods of Ellermann 2014: first, next and best fit, binning.

The paper does not multiply sizes: replay with scale 1. Caching is the parameter `cache` of every
policy.
"""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.segregated_fit import ListFit, ListOrder, SegregatedFit
from simalloc.policy.families.sequential_fit import SequentialFit
from simalloc.policy.parts import Coalescing, Fit, Order, Spacing

GROUP: Final = "ellermann"
TITLE: Final = "the methods of Ellermann 2014"

_PAPER: Final = "Ellermann 2014"
_HEAD: Final = 16
"""Bytes of a chunk's head: a link and a size, on the 64-bit machines of the time."""

_READING: Final = (
    "One list in address order with immediate coalescing, as in Kernighan & Ritchie's "
    "malloc, on which the paper builds. The paper states no minimum remainder. Here, a "
    "remainder is split off if it is at least as large as a head (16 bytes)."
)
_SECTIONS: Final = {Fit.FIRST: "3.2", Fit.NEXT: "3.3", Fit.BEST: "3.4"}


def _fit(fit: Fit) -> Policy:
    return Policy(
        f"{fit.value}-fit-split",
        SequentialFit(fit, Order.ADDRESS, minimum_split=_HEAD),
        source=f"{_PAPER}, sections 2.5, 3.1 and {_SECTIONS[fit]}",
        reading=_READING,
    )


POLICIES: Final = (
    *(_fit(fit) for fit in (Fit.FIRST, Fit.NEXT, Fit.BEST)),
    Policy(
        "binned-fit",
        SegregatedFit(
            ListFit.FIRST,
            ListOrder.SIZE,
            Spacing.LEA,
            coalescing=Coalescing.ALL,
            growth=4096,
            minimum_split=_HEAD,
            count_tail=True,
        ),
        source=f"{_PAPER}, section 3.5",
        reading=(
            "Blocks of up to 512 bytes have 64 exact bins. Larger blocks have bins of Lea's "
            "widths, sorted by size, with the newest of equal blocks first. The paper mentions no "
            "wilderness, so there is none."
        ),
    ),
)
