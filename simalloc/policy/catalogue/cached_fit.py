"""Freed blocks that are cached unmerged for a while (Ellermann 2014)."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.sequential_fit import SequentialFit
from simalloc.policy.parts import Fit, Order

GROUP: Final = "ellermann"

POLICIES: Final = (
    Policy(
        "cached-fit",
        SequentialFit(Fit.FIRST, Order.ADDRESS, minimum_split=16, cache=100),
        source="Ellermann 2014, section 3.6",
        reading=(
            "The paper states no size of the cache. Here, up to a hundred blocks of any size "
            "wait for a request of exactly their size. When one more is freed, all of them are "
            "coalesced. Other requests use first fit in address order; fit=next and fit=best "
            "select the paper's other fits. A remainder smaller than a chunk's head (16 bytes) "
            "is not split off."
        ),
    ),
)
