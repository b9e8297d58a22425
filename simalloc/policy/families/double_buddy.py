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

    order: Annotated[Order, "Choice among the free blocks of a size."] = Order.ADDRESS
    growth: Annotated[
        int,
        PowerOfTwo(16, MAX_UNIT),
        "Growth of the system of sizes 2**N; a larger block extends it by its own size.",
    ] = 4096
    growth_3x: Annotated[
        int,
        PowerOfTwo(24, MAX_UNIT, 3),
        "Growth of the system of sizes 3 * 2**N; a larger block extends it by its own size.",
    ] = 6144

    smallest: ClassVar[int] = 16
