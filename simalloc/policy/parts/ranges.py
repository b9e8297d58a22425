"""Ranges of numbers that a parameter accepts: defined in its type, checked here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from simalloc.errors import PolicyError
from simalloc.policy.parts.values import Auto
from simalloc.sizes import format_size

MAX_UNIT: Final = 1 << 40
"""Maximum growth unit, in scaled bytes."""

MAX_OVERHEAD: Final = 1 << 20
"""Maximum overhead and maximum granule of a request, in scaled bytes."""


_LISTED: Final = 4
"""Maximum number of values that are listed instead of described."""


@dataclass(frozen=True)
class Range:
    """Sizes in bytes from `low` to `high` that are multiples of `multiple`."""

    low: int
    high: int
    multiple: int = 1

    def __str__(self) -> str:
        values = range(self.low, self.high + 1, self.multiple)
        if self.multiple > 1 and len(values) <= _LISTED:
            return " or ".join(map(str, values))
        of = f" that is a multiple of {format_size(self.multiple)}" if self.multiple > 1 else ""
        return f"a size from {format_size(self.low)} to {format_size(self.high)}{of}"

    def check(self, name: str, value: int) -> None:
        """Raise `PolicyError` unless the parameter `name` accepts this value."""
        if not self.low <= value <= self.high or value % self.multiple:
            raise PolicyError(f"{name} is {value}; use {self}")


class Count(Range):
    """Numbers from `low` to `high`, for example of blocks or threads."""

    def __str__(self) -> str:
        return f"a number from {self.low:,} to {self.high:,}"


@dataclass(frozen=True)
class Duration(Range):
    """Durations from `low` to `high`, in a unit."""

    unit: str = "ms"

    def __str__(self) -> str:
        return f"a duration from {self.low:,} to {self.high:,} {self.unit}"


class PowerOfTwo(Range):
    """Powers of two from `low` to `high`, or `multiple` times these."""

    def __str__(self) -> str:
        times = f"{self.multiple} times " if self.multiple > 1 else ""
        return f"{times}a power of two from {format_size(self.low)} to {format_size(self.high)}"

    def check(self, name: str, value: int) -> None:
        """Raise `PolicyError` unless the parameter `name` accepts this value."""
        super().check(name, value)
        if (value // self.multiple).bit_count() != 1:
            raise PolicyError(f"{name} is {value}; use {self}")


class RangeOrAuto(Range):
    """Sizes of a range, or `auto` for the allocator's own default."""

    def __str__(self) -> str:
        return f"auto, or {super().__str__()}"

    def check(self, name: str, value: int | Auto) -> None:
        """Raise `PolicyError` unless the parameter `name` accepts this value."""
        if not isinstance(value, Auto):
            super().check(name, value)


class CountOrAuto(Count, RangeOrAuto):
    """Numbers of a range, or `auto` for the allocator's own default."""

    def __str__(self) -> str:
        return f"auto, or {Count.__str__(self)}"


Unit = Annotated[int, Range(1, MAX_UNIT)]
"""A unit size of at least 1, such as a growth unit."""

Amount = Annotated[int, Range(0, MAX_UNIT)]
"""A size of at least 0; 0 often means never or none."""

Positive = Annotated[int, Count(1, MAX_UNIT)]
"""A number of at least 1."""

Number = Annotated[int, Count(0, MAX_UNIT)]
"""A number of at least 0; 0 often means none."""

Extra = Annotated[int, Range(0, MAX_OVERHEAD)]
"""Bytes that are added to each request."""

Granule = Annotated[int, Range(1, MAX_OVERHEAD)]
"""A size to which each request is rounded up."""


def check_unit(name: str, size: int) -> None:
    """Raise `PolicyError` unless `size` is usable as the parameter `name`."""
    Range(1, MAX_UNIT).check(name, size)
