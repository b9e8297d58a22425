"""Sequential fits: one list of all free blocks."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import CoalescingTime, Fit, Order, Splitting, Unit


@dataclass(frozen=True)
class SequentialFit(Splitting, HeapFamily):
    """One list of all free blocks; the heap grows by a unit."""

    family: ClassVar[str] = "sequential fit"
    reference: ClassVar[str] = "sequential_fit:SequentialFitHeap"

    fit: Annotated[Fit, "Choice among the free blocks that are large enough."]
    order: Annotated[Order, "Order of the free list: newest first, oldest first, or by address."]
    growth: Annotated[Unit, "The heap grows by multiples of this."] = 4096
    coalescing: Annotated[
        CoalescingTime,
        "Time at which adjacent free blocks merge: at every free, when no free block is "
        "large enough, or never.",
    ] = CoalescingTime.IMMEDIATE

    @property
    def core(self) -> str:
        """Name of the core's implementation: best and worst fit use an index of sizes."""
        return "size fit" if self.fit in (Fit.BEST, Fit.WORST) else "list fit"
