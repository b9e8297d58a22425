"""The sizes of blocks that a policy deals in."""

from __future__ import annotations

from enum import Enum


class Series(Enum):
    """The sizes of blocks, from the smallest up."""

    POWERS = "2n"
    """2**N times the smallest."""
    POWERS_AND_THREES = "2n-3x2n"
    """2**N times the smallest, and the sizes halfway between."""
