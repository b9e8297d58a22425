"""Lists of free blocks that a policy in Python searches, as plain Python lists."""

from __future__ import annotations

from collections.abc import Sequence

from simalloc.heap.reference.user_policies.block import UserBlock
from simalloc.policy.user import OrderName


class Ring:
    """The list of next fit, and the rover where its searches start (sequential_fit.md)."""

    def __init__(self, order: OrderName, blocks: Sequence[UserBlock]) -> None:
        self._order = order
        self._list = list(blocks)
        self._rover = blocks[0] if blocks else None

    def enter(self, block: UserBlock) -> None:
        """Insert a block: in address order, or else just before the rover."""
        if self._order == "ao":
            self._list.append(block)
            self._list.sort(key=lambda one: one.address)
        elif self._rover is None:
            self._list.append(block)
        else:
            self._list.insert(self._list.index(self._rover), block)
        if self._rover is None or self._order == "lifo":
            self._rover = block

    def leave(self, block: UserBlock) -> None:
        """Remove a block; a rover on it moves to the block that followed."""
        place = self._list.index(block)
        del self._list[place]
        if self._rover is block:
            self._rover = self._list[place % len(self._list)] if self._list else None

    def search(self, size: int) -> tuple[UserBlock | None, int]:
        """Return the first block from the rover on that is large enough, and the visited count."""
        if self._rover is None:
            return None, 0
        start = self._list.index(self._rover)
        found, visited = first_of([*self._list[start:], *self._list[:start]], size)
        if found is not None:
            self._rover = found
        return found, visited


class Lists:
    """All listed blocks in the order in which they entered, and the rings made so far."""

    def __init__(self) -> None:
        self._oldest_first: list[UserBlock] = []
        self._rings: dict[OrderName, Ring] = {}

    def enter(self, block: UserBlock) -> None:
        """Add a block as the newest."""
        self._oldest_first.append(block)
        for ring in self._rings.values():
            ring.enter(block)

    def leave(self, block: UserBlock) -> None:
        """Remove a block."""
        self._oldest_first.remove(block)
        for ring in self._rings.values():
            ring.leave(block)

    def ordered(self, order: OrderName) -> list[UserBlock]:
        """Return the blocks in `order`."""
        if order == "ao":
            return sorted(self._oldest_first, key=lambda block: block.address)
        return self._oldest_first[:: -1 if order == "lifo" else 1]

    def ring(self, order: OrderName) -> Ring:
        """Return next fit's list; the first call makes it, with the rover on its first block."""
        if order not in self._rings:
            self._rings[order] = Ring(order, self.ordered(order))
        return self._rings[order]


def first_of(blocks: Sequence[UserBlock], size: int) -> tuple[UserBlock | None, int]:
    """Return the first block that is large enough, and the number of visited blocks."""
    for visited, block in enumerate(blocks, 1):
        if block.size >= size:
            return block, visited
    return None, len(blocks)
