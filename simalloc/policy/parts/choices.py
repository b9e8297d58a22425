"""Choices of a policy: the free block for a request, and the order and merging of free blocks."""

from __future__ import annotations

from enum import Enum


class Fit(Enum):
    """Choice among the free blocks that are large enough (Wilson et al. 1995, 3.5)."""

    FIRST = "first"
    NEXT = "next"
    BEST = "best"
    WORST = "worst"
    """The largest of all free blocks."""


class Order(Enum):
    """Order of the list of free blocks: newest first, oldest first, or by address."""

    LIFO = "lifo"
    FIFO = "fifo"
    ADDRESS = "ao"


class Spacing(Enum):
    """Widths of the size classes."""

    EQUAL = "equal"
    """Classes of one width; the last class also contains all larger blocks."""
    LEA = "lea"
    """A class each for 8, 16 ... 512 bytes, then 63 classes of growing width (Lea's bins)."""


class Series(Enum):
    """Series of block sizes, from the smallest up."""

    POWERS = "2n"
    """The smallest size times 2**N."""
    POWERS_AND_THREES = "2n-3x2n"
    """The smallest size times 2**N, and the sizes halfway between."""


class CoalescingTime(Enum):
    """Time at which adjacent free blocks merge.

    Wilson et al. 1995, 3.11; Bryant & O'Hallaron, 9.9.10.
    """

    IMMEDIATE = "immediate"
    """At every free."""
    DEFERRED = "deferred"
    """In the whole heap, at a request for which no free block is large enough."""
    NONE = "none"


class Coalescing(Enum):
    """Neighbours with which a freed block merges."""

    NONE = "none"
    ONE = "one"
    """The first neighbour that the search for the block's place in a tree meets."""
    ALL = "all"
    """Both neighbours, found by boundary tags."""
