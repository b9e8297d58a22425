"""Free blocks grouped by size behind a node, as in Vmalloc's tree and glibc's large bins."""

from __future__ import annotations

from collections.abc import Iterator

from sortedcontainers import SortedDict


class Nodes:
    """Free blocks by size. The first block of a size is its **node**, and later ones follow it.

    When the node leaves, the newest block of its size becomes the node. This models structures that
    insert a block directly behind the node (Vmalloc's tree, the large bins of glibc).
    """

    def __init__(self) -> None:
        # Blocks of each size: the node, then the others in the order in which they entered.
        self._of_size: SortedDict[int, list[int]] = SortedDict()

    def __bool__(self) -> bool:
        """Return whether any block is contained."""
        return bool(self._of_size)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the addresses."""
        return (address for blocks in self._of_size.values() for address in blocks)

    def fitting(self, size: int) -> int | None:
        """Return the smallest size of a block with at least `size` bytes, or None."""
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
        """Remove a block."""
        equals = self._of_size[size]
        if equals[0] != address:
            equals.remove(address)
        elif len(equals) > 1:
            equals[0] = equals.pop()
        else:
            del self._of_size[size]
