"""The malloc of Solaris' libc."""

from dataclasses import dataclass
from math import gcd
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Aligning, Amount, Count, Overhead


@dataclass(frozen=True)
class Solaris(HeapFamily):
    """Frees wait in a ring; exact lists of small cells; best fit, newest first among equals."""

    family: ClassVar[str] = "solaris"
    reference: ClassVar[str] = "solaris:SolarisHeap"

    growth: Annotated[Amount, "The heap grows by multiples of this; 0: 2048 words."] = 0
    ring: Annotated[
        int, Count(1, 4096), "Maximum number of freed blocks that wait in the ring."
    ] = 32

    @property
    def overhead(self) -> Overhead:
        """Overhead: a word, padded to the alignment of two words."""
        unit = 2 * self.word
        return Overhead(header=unit, alignment=unit, minimum=2 * unit)

    @property
    def growth_unit(self) -> int:
        """Unit of the heap's growth in bytes."""
        return self.growth or 2048 * self.word

    def core_parameters(self) -> dict[str, int | str]:
        """Return the parameters by the core's names, with the growth in bytes."""
        return super().core_parameters() | {"growth": self.growth_unit}

    @property
    def aligning(self) -> Aligning:
        """Rule for requested alignments: a larger block is cut; cells are never used."""
        added = self.applied_overhead
        cells = gcd(self.overhead.alignment, added.header + added.footer)
        return self.cutting(gcd(self.growth_unit, cells), 6 * self.overhead.alignment)
