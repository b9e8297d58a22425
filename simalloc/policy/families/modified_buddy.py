"""Bell Labs' modified binary buddy."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import MAX_UNIT, Order, Overhead, PowerOfTwo


@dataclass(frozen=True)
class ModifiedBuddy(HeapFamily):
    """Blocks of 2**N bytes at any address, merged with any neighbour of the same size."""

    family: ClassVar[str] = "modified binary buddy"
    reference: ClassVar[str] = "modified_buddy:ModifiedBuddyHeap"

    order: Annotated[Order, "Choice among the free blocks of a size."] = Order.LIFO
    growth: Annotated[
        int,
        PowerOfTwo(16, MAX_UNIT),
        "Minimum growth of the heap; a larger block extends the heap by its own size.",
    ] = 16

    smallest: ClassVar[int] = 16

    @property
    def overhead(self) -> Overhead:
        """Overhead: a word in front, for the size and the free flag."""
        return Overhead(header=self.word)
