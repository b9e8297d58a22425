"""Sizes of blocks, common to all versions of mimalloc."""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB

SLICE = 64 * KIB
"""Bytes of a slice. Pages, spans and arenas consist of slices."""


def round_up(number: int, unit: int) -> int:
    """Return the smallest multiple of `unit` that is at least `number`."""
    return -(-number // unit) * unit


def block_size(size: int) -> int:
    """Return the block size for requests of `size` bytes: four sizes per doubling."""
    if size <= 8:
        return 8
    if size <= 64:
        return round_up(size, 16)
    return round_up(size, 1 << ((size - 1).bit_length() - 3))


def system_size(size: int, smallest_unit: int) -> int:
    """Return the bytes to map for `size` bytes; the rounding unit grows with the size."""
    for below, unit in ((512 * KIB, smallest_unit), (2 * MIB, SLICE), (8 * MIB, 256 * KIB)):
        if size < below:
            return round_up(size, unit)
    return round_up(size, MIB if size < 32 * MIB else 4 * MIB)


def lowest_bit(number: int) -> int:
    """Return the largest power of two that divides a number."""
    return number & -number
