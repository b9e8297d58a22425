"""Double buddies: two buddy systems side by side."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import MAX_UNIT, Order, PowerOfTwo


@dataclass(frozen=True)
class DoubleBuddy(HeapFamily):
    """Two buddy systems side by side: sizes 2**N and 3 * 2**N.

    Each growth of the heap belongs to one system; blocks merge within one growth only.
    """

    family: ClassVar[str] = "double buddy"
    reference: ClassVar[str] = "double_buddy:DoubleBuddyHeap"

    order: Annotated[Order, "Which free block of a size is taken."] = Order.ADDRESS
    growth: Annotated[
        int,
        PowerOfTwo(16, MAX_UNIT),
        "The system of sizes 2**N grows by it, or by the block if that is larger.",
    ] = 4096
    growth_3x: Annotated[
        int,
        PowerOfTwo(24, MAX_UNIT, 3),
        "The same for the system of sizes 3 * 2**N.",
    ] = 6144

    smallest: ClassVar[int] = 16
