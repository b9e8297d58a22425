"""Python's arenas and pools (simalloc/policy/families/pymalloc.md)."""

from __future__ import annotations

from dataclasses import dataclass, field

GRAIN = 16
"""Sizes of blocks are multiples of this."""


@dataclass(eq=False)
class Pool:
    """Blocks of one size, which may change whenever none is used."""

    arena: Arena
    address: int
    size: int = 0
    """Of a block; 0: the pool was never used."""
    used: int = 0
    """Number of allocated blocks."""
    free: list[int] = field(default_factory=list)
    """Blocks that were used and are not now; the one freed last at the end."""
    fresh: int = 0
    """The address of the lowest block that was never used since the size was set."""
    last: int = 0
    """The address of the highest block."""

    @property
    def is_full(self) -> bool:
        """True if every block is allocated."""
        return not self.free and self.fresh > self.last


@dataclass(eq=False)
class Arena:
    """Memory for pools, got from the system at once."""

    number: int
    base: int
    next_pool: int
    """The address of the lowest pool that was never used."""
    total: int
    """Number of its pools."""
    free_count: int
    """Number of its unused pools."""
    emptied: list[Pool] = field(default_factory=list)
    """The pools that were used and are not now; the one emptied last at the end."""


class UsableArenas:
    """The arenas that have free pools: those with the fewest first, of equals the latest to be so.

    `by_count` has a list for each number of free pools, whose last arena is the first.
    """

    def __init__(self) -> None:
        self.by_count: dict[int, list[Arena]] = {}

    def first(self) -> Arena | None:
        """Return the arena to take a pool from."""
        return self.by_count[min(self.by_count)][-1] if self.by_count else None

    def is_last(self, arena: Arena) -> bool:
        """Say whether an arena is behind all others."""
        return bool(self.by_count) and self.by_count[max(self.by_count)][0] is arena

    def enter(self, arena: Arena) -> None:
        """Put an arena before others with as many free pools, if it has any."""
        if arena.free_count:
            self.by_count.setdefault(arena.free_count, []).append(arena)

    def leave(self, arena: Arena) -> None:
        """Take an arena out, if it is there."""
        if arena.free_count:
            equals = self.by_count[arena.free_count]
            equals.remove(arena)
            if not equals:
                del self.by_count[arena.free_count]
