"""Segregated fits: lists of free blocks by size class, with or without coalescing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from math import lcm
from typing import Annotated, ClassVar, Final

from simalloc.errors import PolicyError
from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Coalescing, Count, Overhead, Spacing, Splitting, Unit

_LEA_STEP: Final = 8


class ListFit(Enum):
    """Choice of a block in a list: the first that fits, or the smallest."""

    FIRST = "first"
    BEST = "best"


class ListOrder(Enum):
    """Order of each list: newest first, or smallest first and newest among equals."""

    LIFO = "lifo"
    SIZE = "size"


@dataclass(frozen=True)
class SegregatedFit(Splitting, HeapFamily):
    """A list of free blocks for each size class; blocks are split and, on request, coalesced.

    Wilson et al. 1995, 3.6. With one class the policy is a sequential fit.
    """

    family: ClassVar[str] = "segregated fit"
    reference: ClassVar[str] = "segregated_fit:SegregatedFitHeap"

    node_words: ClassVar[int] = 3
    """Words of a free block: two links and its size."""

    fit: Annotated[
        ListFit, "Choice of a block in a list: the first that fits, or the smallest that fits."
    ] = ListFit.FIRST
    order: Annotated[ListOrder, "Order of each list: newest first, or smallest first."] = (
        ListOrder.LIFO
    )
    spacing: Annotated[
        Spacing, "Widths of the classes: all equal to `interval`, or the widths of Lea's bins."
    ] = Spacing.EQUAL
    classes: Annotated[
        int, Count(1, 1024), "Number of classes; with `spacing=lea` the number is fixed."
    ] = 1
    interval: Annotated[
        Unit, "Width of each class; the last class also contains all larger blocks."
    ] = 64
    coalescing: Annotated[
        Coalescing,
        "Free neighbours with which a freed block merges: none, or all. `one` is refused.",
    ] = Coalescing.NONE
    growth: Annotated[Unit, "The heap grows by multiples of this."] = 8192
    count_tail: Annotated[
        bool, "With coalescing=all: count the free block at the end of the heap towards a growth."
    ] = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.coalescing is Coalescing.ONE:
            raise PolicyError(
                "coalescing is one, which only address trees support; use none or all"
            )

    @property
    def overhead(self) -> Overhead:
        """Overhead: a word in front of each block for its size, and space for the links."""
        return Overhead(header=self.word, alignment=self.word, minimum=self.node_words * self.word)

    @property
    def applied_overhead(self) -> Overhead:
        """Overhead of a request; a block has space for the links even without headers.

        Lea's classes are exact, so sizes are multiples of 8 with Lea's spacing.
        """
        added = super().applied_overhead.at_least(self.node_words * self.word)
        if self.spacing is Spacing.LEA:
            return replace(added, alignment=lcm(added.alignment, _LEA_STEP))
        return added
