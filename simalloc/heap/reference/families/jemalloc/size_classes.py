"""jemalloc's size classes of objects, slabs and extents."""

from __future__ import annotations

from bisect import bisect_left
from math import lcm
from typing import Final

from simalloc.heap.reference.parts.overhead import round_up
from simalloc.policy.families.jemalloc import Jemalloc

PAGE: Final = 4096
HUGE_PAGE: Final = 2 << 20
SMALLEST_LARGE: Final = 16384
"""Smallest size of an object with its own extent."""
_CACHE_LINE: Final = 64
_MAX_REGIONS: Final = 512
"""Maximum number of regions of a slab."""


def power_above(number: int) -> int:
    """Return the smallest power of two that is at least `number`."""
    return 1 << max(number - 1, 0).bit_length()


def class_above(size: int, grain: int) -> int:
    """Return the smallest class of at least `size`.

    Classes are multiples of `grain`, up to 4 of them, and above 4 classes per doubling.
    """
    if size <= 4 * grain:
        return round_up(max(size, 1), grain)
    return round_up(size, 1 << ((size - 1).bit_length() - 3))


def class_below(size: int, grain: int) -> int:
    """Return the largest class of at most `size`, or 0 if `size` is below all classes."""
    width = grain if size < 4 * grain else 1 << (size.bit_length() - 3)
    return size // width * width


def _small_classes() -> tuple[int, ...]:
    classes = [8]
    while (size := class_above(classes[-1] + 1, 16)) < SMALLEST_LARGE:
        classes.append(size)
    return tuple(classes)


SMALL_CLASSES: Final = _small_classes()


def small_class(size: int) -> int:
    """Return the class number of a small size."""
    return bisect_left(SMALL_CLASSES, size)


def class_number(size: int) -> int:
    """Return the class number of a small or large size."""
    if size <= SMALL_CLASSES[-1]:
        return small_class(size)
    doublings = (size - 1).bit_length() - 1
    quarters = (size - 1 - (1 << doublings)) >> (doublings - 2)
    return len(SMALL_CLASSES) + 4 * (doublings - 13) + quarters - 3


def slab_size(description: Jemalloc, number: int) -> int:
    """Return the slab size of a class: from the option, or the smallest that leaves no rest."""
    size = SMALL_CLASSES[number]
    found = lcm(size, PAGE)
    for first, last, pages in description.slab_pages:
        if first <= size <= last:
            found = PAGE * min(max(pages, -(-size // PAGE)), _MAX_REGIONS * size // PAGE)
    return found


class Sizes:
    """Sizes of objects and slabs under the options."""

    def __init__(self, description: Jemalloc) -> None:
        self.pad = description.pad
        self.page_multiples = description.page_multiples
        self.slabs = [slab_size(description, number) for number in range(len(SMALL_CLASSES))]

    def usable(self, size: int) -> int:
        """Return the usable size of the object for `size` bytes."""
        if size <= SMALL_CLASSES[-1]:
            return SMALL_CLASSES[small_class(size)]
        return round_up(size, PAGE) if self.page_multiples else class_above(size, 16)

    def aligned(self, size: int, alignment: int) -> int:
        """Return the usable size of the object for `size` bytes at an alignment."""
        if size <= SMALL_CLASSES[-1] and alignment <= PAGE:
            usable = self.usable(round_up(size, alignment))
            if usable < SMALLEST_LARGE:
                return usable
        return self.usable(max(size, SMALLEST_LARGE))

    def floor(self, size: int) -> int:
        """Return the largest extent size of a large object that is at most `size`; else `size`."""
        below = class_below(size - self.pad, PAGE) if size > self.pad else 0
        return below + self.pad if below else size

    def bin_of(self, size: int) -> int:
        """Return the page class whose bin contains extents of `size`."""
        return class_above(self.floor(size), PAGE)

    def first_bin(self, size: int) -> int:
        """Return the smallest page class whose bin contains only extents of at least `size`."""
        floor = self.floor(size)
        if floor < size:
            floor = class_above(max(floor - self.pad, 0) + 1, PAGE) + self.pad
        return class_above(floor, PAGE)

    def batched(self, size: int) -> int:
        """Return the bytes to take at once from retained or new addresses for `size` bytes."""
        if not self.page_multiples:
            return size
        return min(class_above(size, 16), round_up(size, HUGE_PAGE))


def offset_step(alignment: int) -> int:
    """Return the unit of an object's random offset in its first page."""
    width = round_up(max(alignment, 1), _CACHE_LINE)
    return 1 << (width.bit_length() - 1)
