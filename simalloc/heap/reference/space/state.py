"""What a block is at the moment."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """What a block is at the moment (docs/policies.md, The heap and the replay)."""

    ALLOCATED = "allocated"
    FREE = "free"
    CACHED = "cached"
    """Free to the program, and not to its neighbours: it is not merged."""
    TABLE = "table"
    """The allocator's own."""
    WASTE = "waste"
    HOLE = "hole"
    """Addresses within a segment that are not mapped."""

    __hash__ = object.__hash__  # an enum's own is slow, and each is there only once
