"""Fixed block sizes, and the free list of each size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from sortedcontainers import SortedList

from simalloc.policy.parts import Order


def smallest_size(request: int, *bases: int) -> int:
    """Return the smallest `base * 2**N`, over all `bases`, that holds a request."""
    return min(_doubled(base, request) for base in bases)


def _doubled(size: int, request: int) -> int:
    while size < request:
        size *= 2
    return size


class FreeLists:
    """Free blocks of each size, in the order in which they are allocated.

    LIFO allocates the newest block first, FIFO the oldest, AO the lowest.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._clock = 0
        self._rank: dict[int, int] = {}
        self._lists: defaultdict[int, SortedList[tuple[int, int]]] = defaultdict(SortedList)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the addresses of all free blocks."""
        return iter(self._rank)

    @property
    def largest(self) -> int:
        """Largest size for which a free block has existed."""
        return max(self._lists, default=0)

    def first(self, size: int) -> int | None:
        """Return the block of this size that is allocated next, or None."""
        blocks = self._lists.get(size)
        return blocks[0][1] if blocks else None

    def enter(self, address: int, size: int) -> None:
        """Add a block as the newest of its size."""
        self._clock += 1
        self._rank[address] = {
            Order.LIFO: -self._clock,
            Order.FIFO: self._clock,
            Order.ADDRESS: address,
        }[self._order]
        self._lists[size].add((self._rank[address], address))

    def leave(self, address: int, size: int) -> None:
        """Remove a block."""
        self._lists[size].remove((self._rank.pop(address), address))
