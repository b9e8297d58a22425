"""Which sizes a program asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.trace.statistics.liveness import most_together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.trace.statistics.lives import Lives

COVERAGE: Final = (0.9, 0.99, 0.999, 1.0)
"""The shares of the objects in table 7 of Johnstone and Wilson 1998."""

SMALLEST_CLASS: Final = 16
"""The upper bound of the first size class, in bytes, as in their table 2."""


@dataclass(frozen=True)
class Sizes:
    """The distinct sizes requested."""

    covering: tuple[int, ...]
    """How many of the commonest sizes make 90, 99, 99.9 and 100 % of the objects (`COVERAGE`)."""
    commonest: tuple[tuple[int, int], ...]
    """The ten commonest sizes, each with its number of objects; of equals the smaller first."""
    zero: int
    """Objects of 0 bytes."""
    largest: int


@dataclass(frozen=True)
class SizeClass:
    """The objects of more than half `upto` bytes and at most `upto`, a power of two.

    The first class holds everything up to 16 bytes. Classes are of the size with `added` bytes.
    """

    upto: int
    objects: int
    bytes: int
    most_live: int
    """The most of them that are live at the same time (table 2)."""
    never_freed: int
    mean_lifetime: float
    """In bytes allocated meanwhile."""
    mean_lifetime_objects: float
    """In objects allocated meanwhile."""


def sizes_of(lives: Lives) -> Sizes:
    """Return which sizes are requested, and how many of them matter."""
    size, objects = np.unique(lives.size, return_counts=True)
    order = np.argsort(-objects, kind="stable")
    reached = np.append(0, np.cumsum(objects[order]))
    share = np.array(COVERAGE) * len(lives)
    ten = order[:10]
    return Sizes(
        covering=tuple(np.searchsorted(reached, share).tolist()),
        commonest=tuple(zip(size[ten].tolist(), objects[ten].tolist(), strict=True)),
        zero=int(np.count_nonzero(lives.size == 0)),
        largest=int(size[-1]) if len(size) else 0,
    )


def classes_of(lives: Lives, added: int = 0) -> tuple[SizeClass, ...]:
    """Return the size classes that have objects, the smallest first.

    `added` bytes are added to every size before it is rounded up to a power of two: 8 in table 2
    of Johnstone and Wilson 1998, it seems for a header.
    """
    exponent = _exponents(lives.size + added)
    return tuple(
        _class(lives, np.flatnonzero(exponent == value), 1 << int(value))
        for value in np.unique(exponent)
    )


def _class(lives: Lives, members: NDArray[np.intp], upto: int) -> SizeClass:
    died = lives.died[members]
    lifetime = lives.death[members] - lives.birth[members]
    return SizeClass(
        upto=upto,
        objects=len(members),
        bytes=int(lives.size[members].sum()),
        most_live=most_together(lives.born[members], died).amount,
        never_freed=int(np.count_nonzero(died == lives.events)),
        mean_lifetime=float(lifetime.mean(dtype=np.float64)),
        mean_lifetime_objects=float(lives.length[members].mean()),
    )


def _exponents(size: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the exponents of the powers of two that sizes round up to, `SMALLEST_CLASS` or more.

    The exponent that frexp gives is the bit length; sizes are far below 2**53, so it is exact.
    """
    _, bits = np.frexp((np.maximum(size, SMALLEST_CLASS) - 1).astype(np.float64))
    return bits.astype(np.int8)
