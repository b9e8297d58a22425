"""Size classes: how free blocks are divided among lists or trees."""

from __future__ import annotations

from enum import Enum


class Spacing(Enum):
    """How wide the size classes are."""

    EQUAL = "equal"
    """So many classes of one width, the last of which has all larger blocks too."""
    LEA = "lea"
    """A class each for 8, 16 ... 512 bytes, then 63 classes of growing width (Lea's bins)."""
