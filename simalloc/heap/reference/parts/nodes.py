"""Free blocks of equal size behind one of them, as lists of sizes and their trees hold them."""

from __future__ import annotations

from collections.abc import Iterator

from sortedcontainers import SortedDict


class Nodes:
    """Free blocks by size; the first of a size is its **node**, and later ones come behind it.

    When the node leaves, the block of its size that entered last becomes the node. So it is where
    blocks are inserted just behind a node (Vmalloc's tree, the large bins of glibc).
    """

    def __init__(self) -> None:
        # Of each size the node, then the others in the order in which they entered.
        self._of_size: SortedDict[int, list[int]] = SortedDict()

    def __bool__(self) -> bool:
        """Say whether there is a block."""
        return bool(self._of_size)

    def __iter__(self) -> Iterator[int]:
        """Run over the addresses."""
        return (address for blocks in self._of_size.values() for address in blocks)

    def fitting(self, size: int) -> int | None:
        """Return the smallest size of a block of at least `size` bytes."""
        place = self._of_size.bisect_left(size)
        return self._of_size.peekitem(place)[0] if place < len(self._of_size) else None

    def of_size(self, size: int) -> list[int]:
        """Return the blocks of this size: the node, then the others, the oldest first."""
        blocks: list[int] = self._of_size[size]
        return blocks

    def enter(self, address: int, size: int) -> None:
        """Add a block."""
        self._of_size.setdefault(size, []).append(address)

    def leave(self, address: int, size: int) -> None:
        """Take a block out."""
        equals = self._of_size[size]
        if equals[0] != address:
            equals.remove(address)
        elif len(equals) > 1:
            equals[0] = equals.pop()
        else:
            del self._of_size[size]
