"""Which free block is taken."""

from __future__ import annotations

from enum import Enum


class Fit(Enum):
    """Which of the free blocks that are large enough is taken (Wilson et al. 1995, 3.5)."""

    FIRST = "first"
    NEXT = "next"
    BEST = "best"


class Order(Enum):
    """How the list of free blocks is ordered: newest first, oldest first, or by address."""

    LIFO = "lifo"
    FIFO = "fifo"
    ADDRESS = "ao"
