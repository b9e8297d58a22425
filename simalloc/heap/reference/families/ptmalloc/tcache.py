"""The cache of one thread under glibc's malloc (simalloc/policy/families/ptmalloc.md)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator


class ThreadCache:
    """Freed blocks of each size, the newest first, at most `count` in a list.

    Each size of at most `small` bytes has a list. Larger sizes share a list with all sizes up to
    the next power of two. Sizes above `most` are not cached.
    """

    def __init__(self, count: int, small: int, most: int) -> None:
        self._room = count
        self._small = small
        self._max = most
        self._blocks: defaultdict[int, list[int]] = defaultdict(list)
        self._counts: Counter[tuple[bool, int]] = Counter()

    def __iter__(self) -> Iterator[int]:
        """Iterate over the addresses, by size; of equal sizes, the newest first."""
        return (block for size in sorted(self._blocks) for block in reversed(self._blocks[size]))

    def has_room(self, size: int) -> bool:
        """Return whether a block of this size would be accepted."""
        return size <= self._max and self._counts[self._list_of(size)] < self._room

    def put(self, address: int, size: int) -> None:
        """Add a block, for which there must be space."""
        self._blocks[size].append(address)
        self._counts[self._list_of(size)] += 1

    def take(self, size: int, alignment: int = 1, offset: int = 0) -> int | None:
        """Remove the newest block of this size whose address + `offset` is aligned."""
        for address in reversed(self._blocks.get(size, [])):
            if (address + offset) % alignment == 0:
                self._blocks[size].remove(address)
                self._counts[self._list_of(size)] -= 1
                return address
        return None

    def _list_of(self, size: int) -> tuple[bool, int]:
        """Return the key of a size's list: True if large, and a number."""
        return (True, size.bit_length()) if size > self._small else (False, size)
