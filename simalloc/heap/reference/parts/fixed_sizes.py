"""Fixed sizes of blocks, and the free blocks of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from sortedcontainers import SortedList

from simalloc.policy.parts import Order


def smallest_size(request: int, *bases: int) -> int:
    """Return the smallest `base * 2**N` of any of `bases` that holds a request."""
    return min(_doubled(base, request) for base in bases)


def _doubled(size: int, request: int) -> int:
    while size < request:
        size *= 2
    return size


class FreeLists:
    """The free blocks of each size, in the order in which they are taken.

    LIFO takes the block that entered last, FIFO the one that entered first, AO the lowest.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._clock = 0
        self._rank: dict[int, int] = {}
        self._lists: defaultdict[int, SortedList[tuple[int, int]]] = defaultdict(SortedList)

    def __iter__(self) -> Iterator[int]:
        """Run over the addresses of all free blocks."""
        return iter(self._rank)

    @property
    def largest(self) -> int:
        """The largest size that there has been a free block of."""
        return max(self._lists, default=0)

    def first(self, size: int) -> int | None:
        """Return the block of this size that is taken next, if there is one."""
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
        """Take a block out."""
        self._lists[size].remove((self._rank.pop(address), address))
