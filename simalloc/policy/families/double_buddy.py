"""Double buddies: two buddy systems side by side."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.families.base import Family
from simalloc.policy.parts import MAX_UNIT, Order, Range


@dataclass(frozen=True)
class DoubleBuddy(Family):
    """Two buddy systems side by side: sizes 2**N and 3 * 2**N.

    Each growth of the heap belongs to one system; blocks merge within one growth only.
    """

    family: ClassVar[str] = "double buddy"
    reference: ClassVar[str] = "double_buddy:DoubleBuddyHeap"

    order: Annotated[Order, "Which free block of a size is taken."] = Order.ADDRESS
    growth: Annotated[
        int,
        Range(16, MAX_UNIT, 16),
        "A power of two; the system of sizes 2**N grows by it, or by the block if that is larger.",
    ] = 4096
    growth_3x: Annotated[
        int,
        Range(24, MAX_UNIT, 24),
        "Three times a power of two; the same for the system of sizes 3 * 2**N.",
    ] = 6144

    smallest: ClassVar[int] = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.growth & (self.growth - 1):
            raise PolicyError(f"growth is {self.growth}; it takes a power of two")
        third = self.growth_3x // 3
        if third & (third - 1):
            raise PolicyError(f"growth_3x is {self.growth_3x}; it takes three times a power of two")
