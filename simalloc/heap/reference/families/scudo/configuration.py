"""Scudo's default configuration and Android's (policy/families/scudo.md)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

from simalloc.policy.families.scudo import Config

PAGE: Final = 4096

GROWTH: Final = 256 << 10
"""A region grows by multiples of this number of bytes."""

SMALL_BELOW: Final = 256
"""Blocks smaller than this have separate thresholds for releases."""

BATCHES: Final = 0
"""Class of the blocks that record the groups and batches of all other classes."""


@dataclass(frozen=True)
class Configuration:
    """The constants of one build; sizes in bytes.

    `sizes` contains the block size of each class. A local cache takes or returns at most
    `max_cached` blocks at once, of at most `cached_bytes` in total, but at least one block. A batch
    has space for `max_cached` blocks. A region of `region` bytes without free blocks makes at most
    `runs` times as many blocks as a local cache takes. `release_pages` is the number of pages that
    small blocks must have freed for another release.
    """

    sizes: tuple[int, ...]
    max_cached: int
    cached_bytes: int
    runs: int
    region: int
    group: int
    release_pages: int
    largest_cached: int
    """Maximum bytes of a cached mapping, unless `cache_size_max` is set."""
    primary_interval: tuple[int, int] | None = None
    """Bounds in milliseconds of the option's interval between releases of a class, or None."""
    secondary_interval: tuple[int, int] | None = None
    """Bounds in milliseconds of the option's interval for cached mappings, or None."""
    is_shared: bool = False
    """True if threads share a few local caches; otherwise each thread has one."""

    def class_for(self, size: int) -> int:
        """Return the class of the smallest blocks of at least `size`, or the class count."""
        return bisect_left(self.sizes, size, lo=1)

    def refill(self, number: int) -> int:
        """Return the number of blocks of a class that a local cache takes or returns at once."""
        return max(1, min(self.max_cached, self.cached_bytes // self.sizes[number]))


def _default_sizes() -> tuple[int, ...]:
    """Return the class sizes of the default configuration: four per doubling from 256 on."""
    small = range(32, 257, 32)
    large = [power * quarter // 4 for power in _powers(256, 65536) for quarter in (5, 6, 7, 8)]
    return (128, *small, *large)


def _powers(least: int, most: int) -> list[int]:
    return [1 << bits for bits in range(least.bit_length() - 1, most.bit_length())]


_ANDROID_SIZES = (
    *(64, 32, 48, 64, 80, 96, 112, 144, 176, 192, 224, 288, 352, 448, 592, 800, 1104, 1648),
    *(2096, 2576, 3120, 4112, 4624, 7120, 8720, 11664, 14224, 16400, 18448, 23056, 29456),
    *(33296, 65552),
)

CONFIGURATIONS: Final = {
    Config.DEFAULT: Configuration(
        sizes=_default_sizes(),
        max_cached=14,
        cached_bytes=1024,
        runs=8,
        region=4 << 30,
        group=2 << 20,
        release_pages=15,
        largest_cached=512 << 10,
    ),
    Config.ANDROID: Configuration(
        sizes=_ANDROID_SIZES,
        max_cached=13,
        cached_bytes=8192,
        runs=4,
        region=256 << 20,
        group=1 << 20,
        release_pages=7,
        largest_cached=2 << 20,
        primary_interval=(1000, 1000),
        secondary_interval=(0, 1000),
        is_shared=True,
    ),
}
