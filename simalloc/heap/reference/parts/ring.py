"""A circular list with a rover, the block where a search starts."""

from __future__ import annotations

from collections.abc import Iterator


class Ring:
    """Blocks in a circle, identified by address. `rover` is None only if the ring is empty.

    The rover moves only when it is set, and when its block leaves (see `remove`).
    """

    def __init__(self) -> None:
        self.rover: int | None = None
        self._next: dict[int, int] = {}
        self._previous: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._next)

    def __iter__(self) -> Iterator[int]:
        """Iterate once around from the rover; the block just yielded may leave or be replaced."""
        return iter(()) if self.rover is None else self.around(self.rover)

    def around(self, start: int) -> Iterator[int]:
        """Iterate once around from the block `start`; no other block may leave meanwhile."""
        block = start
        while True:
            following = self._next[block]
            yield block
            if following == start:
                return
            block = following

    def after(self, block: int) -> int:
        """Return the following block, which is `block` itself in a ring of one block."""
        return self._next[block]

    def insert(self, block: int) -> None:
        """Insert a block just before the rover; a search from the rover visits it last."""
        if self.rover is None:
            self.rover = self._next[block] = self._previous[block] = block
            return
        self._link(self._previous[self.rover], block)
        self._link(block, self.rover)

    def replace(self, block: int, by: int) -> None:
        """Put `by` in the place of `block`; a rover on `block` moves to `by`."""
        following, preceding = self._next.pop(block), self._previous.pop(block)
        if following == block:
            following = preceding = by
        self._link(preceding, by)
        self._link(by, following)
        if self.rover == block:
            self.rover = by

    def remove(self, block: int, *, back: bool = False) -> None:
        """Remove a block; a rover on it moves to the next one, or with `back` to the previous."""
        following, preceding = self._next.pop(block), self._previous.pop(block)
        if following == block:
            self.rover = None
            return
        self._link(preceding, following)
        if self.rover == block:
            self.rover = preceding if back else following

    def _link(self, block: int, following: int) -> None:
        self._next[block] = following
        self._previous[following] = block
