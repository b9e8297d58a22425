"""Address-ordered binary trees of free blocks, one or several by size."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Coalescing, Count, Number, Overhead, Splitting, Unit


class TreeFit(Enum):
    """Choice of a block in a tree: the lowest that fits, the smallest, or near the smallest."""

    FIRST = "first"
    BEST = "best"
    BETTER = "better"


@dataclass(frozen=True)
class AddressTrees(Splitting, HeapFamily):
    """Binary search trees of free blocks by address, which store subtrees' largest sizes.

    Rezaei & Kavi 2016. If there are several trees, each contains the blocks of a range of sizes.
    """

    family: ClassVar[str] = "address trees"
    reference: ClassVar[str] = "address_trees:AddressTreesHeap"
    is_slow: ClassVar[bool] = True

    node_words: ClassVar[int] = 6
    """Words of a free block's node: three links and three sizes."""

    fit: Annotated[
        TreeFit,
        "Choice among the blocks of a tree that fit: the lowest, the smallest, or a block near the "
        "smallest.",
    ]
    trees: Annotated[int, Count(1, 1024), "Number of trees, each for a range of sizes."] = 1
    interval: Annotated[
        Unit, "Width of each tree's size range; the last tree also contains all larger blocks."
    ] = 64
    coalescing: Annotated[
        Coalescing,
        "Free neighbours with which a freed block merges: none, the first that the insertion "
        "meets, or all.",
    ] = Coalescing.NONE
    rebalance: Annotated[
        Number, "Number of frees after which all trees are rebuilt and balanced; 0: never."
    ] = 0
    growth: Annotated[Unit, "The heap grows by multiples of this."] = 8192
    count_tail: Annotated[
        bool, "With coalescing=all: count the free block at the end of the heap towards a growth."
    ] = field(default=False, kw_only=True)

    @property
    def overhead(self) -> Overhead:
        """Overhead: a word in front of each block for its size, and space for a node."""
        return Overhead(header=self.word, alignment=self.word, minimum=self.node_words * self.word)

    @property
    def applied_overhead(self) -> Overhead:
        """Overhead of a request; a block has space for a node even without headers."""
        return super().applied_overhead.at_least(self.node_words * self.word)
