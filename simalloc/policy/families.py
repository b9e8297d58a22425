"""The families of policies: each a mechanism, described by a few orthogonal parts.

A description decides nothing by itself. `simalloc.heap` carries it out, once in plain Python
(`heap/reference`, the definition) and once in C. Sizes are in scaled bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.own.code import PythonCode
from simalloc.policy.parts import Fit, LastRemainder, Order, Series, check_unit


@dataclass(frozen=True)
class SequentialFit:
    """One list of all free blocks; immediate coalescing; the heap grows and never shrinks."""

    family: ClassVar[str] = "sequential fit"

    fit: Fit
    order: Order
    growth: int = 4096
    """The heap grows by multiples of this."""

    def __post_init__(self) -> None:
        check_unit("growth", self.growth)


@dataclass(frozen=True)
class BinnedFit:
    """Best fit through bins of free blocks, oldest first among equals; immediate coalescing.

    The block at the end of the heap is used only when no other fits (the wilderness), and the
    remainder of the latest split may be preferred over a better fit.
    """

    family: ClassVar[str] = "binned fit"

    last_remainder: LastRemainder = LastRemainder.SMALL
    small: int = 504
    """Requests below this many bytes are small."""
    growth: int = 4096

    def __post_init__(self) -> None:
        check_unit("small", self.small)
        check_unit("growth", self.growth)


@dataclass(frozen=True)
class SegregatedStorage:
    """A list of free blocks for each size; blocks are neither split nor coalesced."""

    family: ClassVar[str] = "segregated storage"

    series: Series
    growth: int = 4096
    """Cut into blocks when the list of a power-of-two size is empty; a larger block comes alone."""
    growth_3x: int = 6144
    """The same for the sizes three times a power of two."""

    smallest: ClassVar[int] = 16

    def __post_init__(self) -> None:
        check_unit("growth", self.growth)
        check_unit("growth_3x", self.growth_3x)


@dataclass(frozen=True)
class BinaryBuddy:
    """Blocks of 2**N bytes, halved on demand and merged with their buddies at once."""

    family: ClassVar[str] = "binary buddy"

    order: Order = Order.FIFO
    """Which free block of a size is taken."""
    growth: int = 4096
    """A power of two; the heap grows by it or, if larger, to the end of the block asked for."""

    smallest: ClassVar[int] = 16

    def __post_init__(self) -> None:
        check_unit("growth", self.growth, self.smallest)
        if self.growth & (self.growth - 1):
            raise PolicyError(f"growth is {self.growth}; a binary buddy takes a power of two")


@dataclass(frozen=True)
class DoubleBuddy:
    """Two buddy systems side by side: sizes 2**N and 3 * 2**N.

    Each growth of the heap belongs to one system; blocks merge within one growth only.
    """

    family: ClassVar[str] = "double buddy"

    order: Order = Order.ADDRESS
    growth: int = 4096
    """A power of two; the system of sizes 2**N grows by it, or by the block if that is larger."""
    growth_3x: int = 6144
    """Three times a power of two; the same for the system of sizes 3 * 2**N."""

    smallest: ClassVar[int] = 16

    def __post_init__(self) -> None:
        check_unit("growth", self.growth, self.smallest)
        check_unit("growth_3x", self.growth_3x, 3 * self.smallest // 2)
        if self.growth & (self.growth - 1):
            raise PolicyError(f"growth is {self.growth}; it takes a power of two")
        third = self.growth_3x // 3
        if third & (third - 1):
            raise PolicyError(f"growth_3x is {self.growth_3x}; it takes three times a power of two")


Family = SequentialFit | BinnedFit | SegregatedStorage | BinaryBuddy | DoubleBuddy | PythonCode
