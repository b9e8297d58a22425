"""What a policy chooses among: which free block is taken, and how they are held and merged."""

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


class Spacing(Enum):
    """How wide the size classes are."""

    EQUAL = "equal"
    """So many classes of one width, the last of which has all larger blocks too."""
    LEA = "lea"
    """A class each for 8, 16 ... 512 bytes, then 63 classes of growing width (Lea's bins)."""


class Series(Enum):
    """The sizes of blocks, from the smallest up."""

    POWERS = "2n"
    """2**N times the smallest."""
    POWERS_AND_THREES = "2n-3x2n"
    """2**N times the smallest, and the sizes halfway between."""


class CoalescingTime(Enum):
    """When adjacent free blocks merge (Wilson et al. 1995, 3.11; Bryant & O'Hallaron, 9.9.10)."""

    IMMEDIATE = "immediate"
    """At every free."""
    DEFERRED = "deferred"
    """All over the heap, when a request fits in no free block."""
    NONE = "none"


class Coalescing(Enum):
    """Which neighbours a freed block merges with."""

    NONE = "none"
    ONE = "one"
    """The first neighbour that the search for its place in a tree meets."""
    ALL = "all"
    """Both, wherever they are held, found by boundary tags."""
