"""Size classes of musl's malloc, and the number of slots of a new group."""

from __future__ import annotations

from bisect import bisect_left

UNIT = 16
"""Alignment of slots, and unit of slot sizes, in bytes."""

PAGE = 4096

COUNTED = range(7, 39)
"""Classes whose bounces are counted: mappings soon after an unmapping."""

_UNITS = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15),
    *(18, 20, 25, 31, 36, 42, 50, 63, 72, 84, 102, 127, 146, 170, 204, 255),
    *(292, 340, 409, 511, 584, 682, 818, 1023, 1169, 1364, 1637, 2047),
    *(2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191),
)

SIZES = tuple(UNIT * units for units in _UNITS)

_SMALL_COUNTS = (
    (30, 30, 30),
    (31, 15, 15),
    (20, 10, 10),
    (31, 15, 7),
    (25, 12, 6),
    (21, 10, 5),
    (18, 8, 4),
    (31, 15, 7),
    (28, 14, 6),
)
_COUNTS = (28, 24, 20, 32)


def class_of(size: int) -> int:
    """Return the smallest class whose slots have at least `size` bytes."""
    return bisect_left(SIZES, size)


def slot_count(number: int, usage: int, head: int) -> int:
    """Return the initial number of slots of a new group of a class.

    The number is large if the class already has many slots (`usage`). `head` bytes precede the
    slots.
    """
    size = SIZES[number]
    if number < len(_SMALL_COUNTS):
        counts = _SMALL_COUNTS[number]
        count = next((count for count in counts[:2] if 4 * count <= usage), counts[2])
    else:
        count = _COUNTS[number % 4]
        while count % 2 == 0 and 4 * count > usage:
            count //= 2
        while size * count >= 1 << 20:
            count //= 2
    return 2 if count == 1 and size + head <= PAGE // 2 else count


def lowered_count(number: int, count: int) -> int:
    """Return the number of slots of a separately mapped group if its class has few slots."""
    size = SIZES[number] * count
    if number % 4 == 1 and size > 8 * PAGE:
        return 2
    if number % 4 == 2 and size > 4 * PAGE:
        return 3
    if number % 4 == 0 and size > 8 * PAGE:
        return 3
    if number % 4 == 0 and size > 2 * PAGE:
        return 5
    return count
