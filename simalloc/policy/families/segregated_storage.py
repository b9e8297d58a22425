"""Segregated storage: a list of free blocks for each size."""

from dataclasses import dataclass
from math import gcd
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Aligning, Series, Unit


@dataclass(frozen=True)
class SegregatedStorage(HeapFamily):
    """A list of free blocks for each size; blocks are neither split nor coalesced."""

    family: ClassVar[str] = "segregated storage"
    reference: ClassVar[str] = "segregated_storage:SegregatedStorageHeap"

    series: Annotated[Series, "Series of the block sizes."]
    growth: Annotated[
        Unit,
        "Growth that is cut into blocks when a list of a size 2**N is empty. A larger block "
        "is allocated alone.",
    ] = 4096
    growth_3x: Annotated[
        Unit,
        "Growth that is cut into blocks when a list of a size 3 * 2**N is empty. A larger "
        "block is allocated alone.",
    ] = 6144

    smallest: ClassVar[int] = 16

    @property
    def aligning(self) -> Aligning | None:
        """Rule for requested alignments: natural, if every growth is a power of two; else None."""
        if self.series is Series.POWERS and not self.growth & (self.growth - 1):
            guaranteed = gcd(self.applied_overhead.alignment, self.growth)
            return Aligning(guaranteed=guaranteed, natural_limit=self.growth)
        return None
