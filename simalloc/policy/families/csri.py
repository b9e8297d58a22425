"""CSRI malloc by Moraes, University of Toronto."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Aligning, Amount, Overhead, Unit


@dataclass(frozen=True)
class Csri(HeapFamily):
    """Eight bins by size, each a circular list searched by first fit from a rover."""

    family: ClassVar[str] = "csri"
    reference: ClassVar[str] = "csri:CsriHeap"

    growth: Annotated[
        Amount,
        "The heap grows by multiples of this, and always by more than the request; 0: 1024 words.",
    ] = 0
    minimum_split: Annotated[
        Unit,
        "A remainder smaller than this is not split off; with mechanism=on, a remainder "
        "smaller than four words is not split off either.",
    ] = 1

    @property
    def overhead(self) -> Overhead:
        """Overhead: a tag word in front and one behind, and two links in a free block."""
        word = self.word
        return Overhead(header=word, footer=word, alignment=word, minimum=4 * word)

    @property
    def growth_unit(self) -> int:
        """Unit of the heap's growth in bytes."""
        return self.growth or 1024 * self.word

    def core_parameters(self) -> dict[str, int | str]:
        """Return the parameters by the core's names, with the growth in bytes."""
        return super().core_parameters() | {"growth": self.growth_unit}

    @property
    def aligning(self) -> Aligning:
        """Rule for requested alignments: a larger block is taken, and its excess is freed."""
        return self.cutting(self.growth_unit, self.minimum_split)
