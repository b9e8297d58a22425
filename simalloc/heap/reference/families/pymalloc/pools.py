"""Python's arenas and pools (simalloc/policy/families/pymalloc.md)."""

from __future__ import annotations

from dataclasses import dataclass, field

GRAIN = 16
"""Unit of block sizes in bytes."""


@dataclass(eq=False)
class Pool:
    """Blocks of one size, which can change while no block is used."""

    arena: Arena
    address: int
    size: int = 0
    """Size of a block, or 0 if the pool was never used."""
    used: int = 0
    """Number of allocated blocks."""
    free: list[int] = field(default_factory=list)
    """Free blocks that were used before; the block freed last is at the end."""
    fresh: int = 0
    """Address of the lowest block that was never used since the size was set."""
    last: int = 0
    """Address of the highest block."""

    @property
    def is_full(self) -> bool:
        """True if every block is allocated."""
        return not self.free and self.fresh > self.last


@dataclass(eq=False)
class Arena:
    """Memory for pools, mapped at once."""

    number: int
    base: int
    next_pool: int
    """Address of the lowest pool that was never used."""
    total: int
    """Number of pools."""
    free_count: int
    """Number of unused pools."""
    emptied: list[Pool] = field(default_factory=list)
    """Unused pools that were used before; the pool emptied last is at the end."""


class UsableArenas:
    """Arenas with free pools: the fewest free pools first; of equals, the latest entry first.

    `by_count` has a list for each number of free pools. The last arena of a list comes first.
    """

    def __init__(self) -> None:
        self.by_count: dict[int, list[Arena]] = {}

    def first(self) -> Arena | None:
        """Return the arena from which to take a pool, or None."""
        return self.by_count[min(self.by_count)][-1] if self.by_count else None

    def is_last(self, arena: Arena) -> bool:
        """Return whether an arena is behind all others."""
        return bool(self.by_count) and self.by_count[max(self.by_count)][0] is arena

    def enter(self, arena: Arena) -> None:
        """Put an arena before others with equally many free pools, unless it has no free pool."""
        if arena.free_count:
            self.by_count.setdefault(arena.free_count, []).append(arena)

    def leave(self, arena: Arena) -> None:
        """Remove an arena, if it is contained."""
        if arena.free_count:
            equals = self.by_count[arena.free_count]
            equals.remove(arena)
            if not equals:
                del self.by_count[arena.free_count]
