"""Choices of a policy: the free block for a request, and the order and merging of free blocks."""

from __future__ import annotations

from enum import Enum


class Fit(Enum):
    """The chosen free block among those that are large enough (Wilson et al. 1995, 3.5)."""

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
    """Classes of one width; the last also has all larger blocks."""
    LEA = "lea"
    """A class each for 8, 16 ... 512 bytes, then 63 classes of growing width (Lea's bins)."""


class Series(Enum):
    """The sizes of blocks, from the smallest up."""

    POWERS = "2n"
    """2**N times the smallest."""
    POWERS_AND_THREES = "2n-3x2n"
    """2**N times the smallest, and the sizes halfway between."""


class CoalescingTime(Enum):
    """Time at which adjacent free blocks merge (Wilson et al.

    1995, 3.11; Bryant & O'Hallaron, 9.9.10).
    """

    IMMEDIATE = "immediate"
    """At every free."""
    DEFERRED = "deferred"
    """All over the heap, when a request fits in no free block."""
    NONE = "none"


class Coalescing(Enum):
    """The neighbours that a freed block merges with."""

    NONE = "none"
    ONE = "one"
    """The first neighbour that the search for its place in a tree meets."""
    ALL = "all"
    """Both, wherever they are held, found by boundary tags."""
