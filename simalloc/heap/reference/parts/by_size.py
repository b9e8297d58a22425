"""Free blocks ordered by size; the oldest or the newest block of a size comes first."""

from __future__ import annotations

from collections.abc import Iterator

from sortedcontainers import SortedList


class BlocksBySize:
    """Free blocks ordered by size. Of equal sizes the oldest, or the newest, comes first."""

    def __init__(self, *, newest_first: bool = False) -> None:
        self._step = -1 if newest_first else 1
        self._clock = 0
        self._key: dict[int, tuple[int, int, int]] = {}
        self._order: SortedList[tuple[int, int, int]] = SortedList()

    def __iter__(self) -> Iterator[int]:
        """Iterate over the addresses, the smallest block first."""
        return (address for *_, address in self._order)

    def __contains__(self, address: int) -> bool:
        """Return whether the block is contained."""
        return address in self._key

    def enter(self, address: int, size: int) -> None:
        """Add a block."""
        self._clock += self._step
        self._key[address] = size, self._clock, address
        self._order.add(self._key[address])

    def leave(self, address: int) -> None:
        """Remove a block."""
        self._order.remove(self._key.pop(address))

    def first(self, size: int) -> int | None:
        """Return the first of the smallest blocks with at least `size` bytes, or None."""
        place = self._order.bisect_left((size,))
        return self._order[place][-1] if place < len(self._order) else None
