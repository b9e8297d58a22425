"""When a freed block becomes one with the free blocks beside it."""

from __future__ import annotations

from enum import Enum


class Coalescing(Enum):
    """Which neighbours a freed block merges with."""

    NONE = "none"
    ONE = "one"
    """The first neighbour that the search for its place in a tree meets."""
    ALL = "all"
    """Both, wherever they are held, found by boundary tags."""
