"""The modified binary buddy of Bell Labs."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.families.base import Family
from simalloc.policy.parts import MAX_UNIT, Order, Overhead, Range


@dataclass(frozen=True)
class ModifiedBuddy(Family):
    """Blocks of 2**N bytes at any address, merged with any neighbour of the same size."""

    family: ClassVar[str] = "modified binary buddy"
    reference: ClassVar[str] = "modified_buddy:ModifiedBuddyHeap"

    order: Annotated[Order, "Which free block of a size is taken."] = Order.LIFO
    growth: Annotated[
        int,
        Range(16, MAX_UNIT, 16),
        "A power of two; the heap grows by it or, if larger, by the block asked for.",
    ] = 16

    smallest: ClassVar[int] = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.growth & (self.growth - 1):
            raise PolicyError(f"growth is {self.growth}; it takes a power of two")

    @property
    def overhead(self) -> Overhead:
        """A word in front, for the size and whether the block is free."""
        return Overhead(header=self.word)
