"""The malloc of Solaris' -lmalloc, from System V Release 4."""

from dataclasses import dataclass
from math import gcd
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Aligning, Overhead, Positive, Unit


@dataclass(frozen=True)
class Solaris3x(HeapFamily):
    """Next fit over an unsorted queue, merged during searches; small requests share blocks."""

    family: ClassVar[str] = "solaris-3x"
    reference: ClassVar[str] = "solaris_3x:Solaris3xHeap"

    cells: Annotated[Positive, "Number of cells in a holding block."] = 100
    growth: Annotated[Unit, "The heap grows by multiples of this."] = 2048
    minimum_split: Annotated[
        Unit,
        "A remainder smaller than this is not split off; with mechanism=on, the minimum is "
        "four words.",
    ] = 1

    @property
    def overhead(self) -> Overhead:
        """Overhead: a link to the next block, padded to two words; free blocks have two more."""
        word = self.word
        return Overhead(header=2 * word, alignment=2 * word, minimum=4 * word)

    @property
    def aligning(self) -> Aligning:
        """Rule for requested alignments: a larger block is cut; cells are never used."""
        added = self.applied_overhead
        cells = gcd(self.overhead.alignment, added.header + added.footer)
        least = max(self.minimum_split, 8 * self.overhead.alignment)
        return self.cutting(gcd(self.growth, cells), least)
