"""Size classes of tcmalloc: block sizes, and the spans of each class."""

from __future__ import annotations

from dataclasses import dataclass

LARGEST = 256 * 1024
"""Maximum bytes of a request that uses a size class."""

_MOVED_BYTES = 64 * 1024
"""Approximate bytes that move at once between a thread cache and the central free lists."""

_MAX_CHAINS = 64
_CHAINED_BYTES = 1 << 20


@dataclass(frozen=True)
class SizeClass:
    """Blocks of one size: each span has `pages` pages, and `move` blocks move at once."""

    size: int
    pages: int
    move: int

    @property
    def max_cache_size(self) -> int:
        """Maximum number of chains of `move` blocks in the transfer cache."""
        return min(_MAX_CHAINS, max(1, _CHAINED_BYTES // (self.size * self.move)))


def size_classes(page: int, max_moved: int) -> list[SizeClass]:
    """Return the classes, the smallest size first."""
    classes: list[SizeClass] = []
    for size in _candidates(page):
        move = min(max(_MOVED_BYTES // size, 2), max_moved)
        pages = _pages(size, move, page)
        last = classes[-1] if classes else None
        if last and last.pages == pages and pages * page // size == pages * page // last.size:
            classes.pop()
        classes.append(SizeClass(size, pages, move))
    return classes


def rounded_request(size: int) -> int:
    """Return the size for the class lookup of a request; the table has steps of 8 or 128 bytes."""
    unit = 8 if size <= 1024 else 128
    return -(-size // unit) * unit


def _candidates(page: int) -> list[int]:
    sizes = [8]
    while sizes[-1] < LARGEST:
        size = sizes[-1]
        step = 8 if size < 16 else max(16, (1 << size.bit_length() - 1) // 8)
        sizes.append(size + min(step, page))
    return sizes


def _pages(size: int, move: int, page: int) -> int:
    """Return the smallest suitable number of pages of a span.

    A span wastes at most an eighth of its bytes, and holds at least a quarter of `move` blocks.
    """
    pages = 1
    while pages * page % size > pages * page // 8 or pages * page // size < move // 4:
        pages += 1
    return pages
