"""Base class of the descriptions of pools of fixed size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Annotated, Any, ClassVar, Final

from simalloc.errors import PolicyError
from simalloc.policy.families.base import Family, parameter_ranges
from simalloc.policy.parts import MAX_UNIT, Range

AMPLE: Final = 1 << 30
"""Bytes of a pool without a capacity: more than a board has."""
NO_FIGURE: Final = -1
"""The core's value for a figure that does not exist."""

Word = Annotated[int, Range(4, 8, 4), "Bytes of a machine word, 4 or 8. Headers consist of words."]

Start = Annotated[
    int, Range(0, 65535), "Bytes by which the memory's start exceeds a multiple of 64 KiB."
]


@dataclass(frozen=True, kw_only=True)
class Pool(Family):
    """An allocator in memory of fixed size; its constants are bytes.

    The mapped bytes are the high-water mark: all bytes below the end of the highest block ever in
    use, including the allocator's own tables.
    """

    family: ClassVar[str] = "pool"
    recordings: ClassVar[bool] = True
    runner: ClassVar[str] = "pool"
    only_scale: ClassVar[int] = 1
    """The constants are bytes."""
    follows_capacity: ClassVar[tuple[str, ...]] = ("pool_bytes",)
    """The core's parameters that depend on the pool's size."""

    capacity: Annotated[
        int,
        Range(0, MAX_UNIT),
        "Bytes of the pool, including the allocator's own tables; 0: 1 GiB.",
    ] = 0

    def __post_init__(self) -> None:
        family: Any = type(self)  # a class can be hashed, but not each of its instances
        for name, kind in parameter_ranges(family).items():
            kind.check(name, getattr(self, name))
        if self.available < self.min_capacity:
            raise PolicyError(
                f"capacity is {self.capacity}; with these parameters {self.family} takes at "
                f"least {self.min_capacity} bytes"
            )

    def core_parameters(self) -> dict[str, int | str]:
        """Return the parameters by the core's names; parameters of heaps are not set."""
        given = {"pool_bytes": self.available, "skew": 0} | self._own_parameters()
        return super().core_parameters() | given

    def _own_parameters(self) -> dict[str, int | str]:
        """Return the core's parameters of this allocator; by default, its own parameters."""
        shared = {part.name for part in fields(Pool)}
        own = {
            part.name: getattr(self, part.name) for part in fields(self) if part.name not in shared
        }
        return {n: v.value if isinstance(v, Enum) else v for n, v in own.items()}

    @property
    def available(self) -> int:
        """Bytes of the pool."""
        return self.capacity or AMPLE

    @property
    def is_monotone(self) -> bool:
        """True if a program that fits a pool fits every larger pool."""
        return False

    def min_from(self, high_water: int) -> int | None:
        """Return the minimum pool of a program in bytes, from the high-water mark in an ample pool.

        Returns None if the allocator's rules do not determine the minimum; sizes must then be
        tried. If they do, the allocator is monotone.
        """
        del high_water
        return None

    @property
    def grain(self) -> int:
        """Unit of the pool's size: pools whose sizes round down to the same multiple are alike."""
        return 1

    @property
    def unused_end(self) -> int:
        """Bytes at the pool's end that no block can use until a larger pool adds more."""
        return 0

    @property
    def min_capacity(self) -> int:
        """Smallest pool in which the allocator can be initialised, in bytes."""
        return 1

    def block_bytes(self, size: int) -> int:
        """Return the bytes of the smallest block that can hold an object of `size` bytes.

        A pool with fewer bytes than the smallest blocks of all live objects cannot serve a program,
        so smaller pools need no replay. The result does not decrease with the pool's size. An
        allocator that does not define this method returns the object's bytes.
        """
        return size

    @property
    def mechanism(self) -> bool:
        """Always True: headers and tables are located in the pool."""
        return True

    @property
    def has_more_memory(self) -> bool:
        """True if the allocator has memory besides the pool."""
        return False

    def spell_figures(
        self, figures: Mapping[str, int], location: tuple[int, int, float] | None
    ) -> Sequence[object]:
        """Return the allocator's own figures; `-` stands for a figure that does not exist."""
        del location
        return ["-" if value == NO_FIGURE else value for value in figures.values()]


def round_up(size: int, unit: int) -> int:
    """Return `size` rounded up to a multiple of `unit`."""
    return -(-size // unit) * unit
