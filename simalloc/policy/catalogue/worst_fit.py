"""Worst fit, which textbooks compare with first and best fit."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.sequential_fit import SequentialFit
from simalloc.policy.parts import Fit, Order

GROUP: Final = "textbook"
TITLE: Final = "the four fits of textbooks, in three list orders"


def _worst_fit(order: Order) -> Policy:
    return Policy(
        f"worst-fit-{order.value}",
        SequentialFit(Fit.WORST, order),
        source="Silberschatz, Galvin & Gagne, Operating System Concepts, contiguous memory",
        reading=(
            "The textbook describes only the search. Among equal blocks, the first in list order "
            "is used. Splitting, coalescing and growth follow the rules of best fit."
        ),
    )


POLICIES: Final = tuple(_worst_fit(order) for order in (Order.ADDRESS, Order.LIFO, Order.FIFO))
"""Rows of worst fit; the other three fits are rows of Johnstone & Wilson 1998."""
