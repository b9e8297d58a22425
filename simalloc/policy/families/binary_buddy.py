"""The binary buddy system."""

from dataclasses import dataclass
from math import gcd
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import MAX_UNIT, Aligning, Order, PowerOfTwo


@dataclass(frozen=True)
class BinaryBuddy(HeapFamily):
    """Blocks of 2**N bytes, halved on demand and merged with their buddies immediately."""

    family: ClassVar[str] = "binary buddy"
    reference: ClassVar[str] = "binary_buddy:BinaryBuddyHeap"

    order: Annotated[Order, "Choice among the free blocks of a size."] = Order.FIFO
    growth: Annotated[
        int,
        PowerOfTwo(16, MAX_UNIT),
        "Minimum growth of the heap; a larger block extends the heap to the block's end.",
    ] = 4096

    smallest: ClassVar[int] = 16

    @property
    def aligning(self) -> Aligning:
        """Rule for requested alignments: a block's address is a multiple of its size."""
        return Aligning(
            guaranteed=gcd(self.applied_overhead.alignment, MAX_UNIT), natural_limit=MAX_UNIT
        )
