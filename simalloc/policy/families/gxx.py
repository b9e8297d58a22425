"""libg++'s malloc: Doug Lea's version 2.5."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Count, Overhead, Unit


@dataclass(frozen=True)
class Gxx(HeapFamily):
    """Freed blocks wait on a list, then in bins, and merge only if no other block fits."""

    family: ClassVar[str] = "g++"
    reference: ClassVar[str] = "gxx:GxxHeap"
    cuts: ClassVar[bool] = True

    growth: Annotated[Unit, "The heap grows by multiples of this."] = 8192
    preallocate: Annotated[
        int,
        Count(0, 64),
        "Maximum number of extra blocks that are cut if the previous split was for the same size.",
    ] = 5

    @property
    def large_overhead(self) -> Overhead:
        """Overhead of a block in the bins."""
        return self.applied_overhead
